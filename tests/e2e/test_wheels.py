"""The wheels of product, client and plug-ins run without the checkout: what they need besides code is in them."""

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = ["pyproject.toml", "README.md", "LICENSE", "app", "indexer", "models", "migrations"]
CALLS = '{"id": "a", "text": "Somebody took my payment twice."}\n{"id": "b", "text": "Where is my parcel?"}\n'
OPENED = """
import app, sys, spanseek
assert app.__file__.startswith(sys.prefix) and spanseek.__file__.startswith(sys.prefix), app.__file__
with spanseek.open("data") as db:
    print(db.collection("calls").search("took my payment", k=1)[0].text)
"""


def run(*command: str | Path, **options: object) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [*map(str, command)],
        env=environment | {"SPANSEEK_ENCODER": "hashing"},
        stdout=subprocess.PIPE,  # and standard error into the report of a failure
        text=True,
        check=True,
        timeout=200,
        **options,
    )
    return done.stdout


def built(folder: Path) -> list[Path]:
    """The wheels, built from a copy: building leaves files behind."""
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in PRODUCT:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        copy(ROOT / name, folder / name, **{"ignore": ignored} if copy is shutil.copytree else {})
    for name in ("client", "plugins"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    wheel = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder / "wheels"]
    run(sys.executable, "-m", "pip", *wheel, folder, folder / "client", *sorted((folder / "plugins").iterdir()))
    return sorted((folder / "wheels").iterdir())


@pytest.mark.ci("builds wheels")
@pytest.mark.timeout(900)
def test_the_wheels_index_serve_and_search(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    wheels = built(tmp_path / "source")
    (client,) = (wheel for wheel in wheels if wheel.name.startswith("spanseek_client-"))
    assert client.stat().st_size < 200_000
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", *wheels)
    # Their dependencies are those of this environment; its own checkout is not among them.
    site = next((tmp_path / "env").glob("lib/*/site-packages"))
    others = [path for path in sys.path if path.endswith("site-packages")]
    (site / "dependencies.pth").write_text("\n".join(others) + "\n")
    (tmp_path / "calls.ndjson").write_text(CALLS)
    spanseek = tmp_path / "env" / "bin" / "spanseek"
    run(spanseek, "index", "--collection", "calls", "--source", "calls.ndjson", cwd=tmp_path)
    found = run(spanseek, "search", "took my payment", "--collection", "calls", "--json", cwd=tmp_path)
    assert json.loads(found.splitlines()[-1])["hits"][0]["text"] == "took my payment"
    assert run(python, "-c", OPENED, cwd=tmp_path) == "took my payment\n"
