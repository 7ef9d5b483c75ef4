"""The commands of the Compose file, in their order, on a real PostgreSQL: a first key, a server, an index."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.settings import Settings
from tests.serving import running

ROOT = Path(__file__).parents[2]


@pytest.mark.slow("starts what the Compose file names")
@pytest.mark.parametrize("backend", ["postgresql"])
def test_the_services_come_up_in_their_order(empty_url: str, tmp_path: Path) -> None:
    services: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    variables = {"SPANSEEK_DATA_DIR": str(tmp_path), "SPANSEEK_DATABASE_URL": empty_url, "SPANSEEK_ENCODER": "hashing"}

    def run(service: str) -> str:
        arguments = [str(ROOT / "samples" / "documents") if each == "/source" else each
                     for each in services[service]["command"]]  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", "from app.cli import main; main()", *arguments],
            env=os.environ | variables,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return done.stdout

    run("migrate")
    (token,) = re.findall(r"^ssk_\S+$", run("first-key"), re.MULTILINE)
    run("migrate")  # as `docker compose up` does the next time
    assert "ssk_" not in run("first-key")
    settings = Settings(_env_file=None, data_dir=tmp_path, encoder="hashing", database_url=empty_url)
    with running(settings, host="0.0.0.0", database_url=empty_url) as (_, client):
        run("indexer")
        body = {"collection": "sample", "text": "cancel my subscription"}
        assert client.post("/search", json=body).status_code == 401
        answer = client.post("/search", json=body, headers={"Authorization": f"Bearer {token}"}).json()
        assert answer["hits"]
