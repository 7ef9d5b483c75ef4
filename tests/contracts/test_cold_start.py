"""What a command imports before it can answer. Seconds differ from machine to machine; names do not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"alembic", "numba", "pyarrow", "ray", "scipy.linalg", "sklearn", "sqlalchemy", "torch", "transformers"}
# Typer leaves by SystemExit; nothing else may.
COMMAND = """
import sys
from app.cli import cli
try:
    cli(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
"""
ENCODER = """
from models.encoders.registry import load_encoder
load_encoder("hashing")
"""


def imported(script: str, data_dir: Path, *arguments: str) -> set[str]:
    """The heavy packages that a script has imported when it ends."""
    told = f"{script}\nprint('\\n' + ' '.join({HEAVY} & sys.modules.keys()))"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{told}", *arguments],
        # A first search may compile kernels, which takes longer than an answer may.
        env=os.environ
        | {"SPANSEEK_DATA_DIR": str(data_dir), "SPANSEEK_DEADLINE_S": "200", "SPANSEEK_WRITE_DEADLINE_S": "200"},
        stdout=subprocess.PIPE,  # and standard error into the report of a failure
        text=True,
        check=True,
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("arguments", [["--help"], ["search", "--help"], ["keys", "--help"]])
def test_help_needs_nothing(tmp_path: Path, arguments: list[str]) -> None:
    assert imported(COMMAND, tmp_path, *arguments) == set()


@pytest.mark.parametrize("arguments", [["collections", "list"], ["keys", "list"]])
@pytest.mark.ci("starts processes")
def test_lists_need_no_search(tmp_path: Path, arguments: list[str]) -> None:
    imported(COMMAND, tmp_path, "init-db")
    assert imported(COMMAND, tmp_path, *arguments) <= {"pyarrow", "sqlalchemy"}


def test_phrases_are_listed_without_the_kernels(tmp_path: Path) -> None:
    assert imported("import indexer.catalog.phrases", tmp_path) <= {"pyarrow", "sqlalchemy"}


def test_an_encoder_without_a_backbone_needs_no_network(tmp_path: Path) -> None:
    assert imported(ENCODER, tmp_path) == set()


def test_a_server_that_reads_its_segments_itself_needs_no_ray(tmp_path: Path) -> None:
    assert "ray" not in imported("import app.main, spanseek_ray.executor", tmp_path)


SEARCHES = """
import json, sys
from app.cli import cli
for mode in ("best_span", "maxsim"):
    try:
        cli(["search", "the cat sat", "-c", "cats", "--json", "--mode", mode])
    except SystemExit as end:
        assert not end.code, end.code
"""
SERVER = """
from fastapi.testclient import TestClient
from app.main import create_app
from app.settings import Settings
with TestClient(create_app(Settings()), base_url="http://localhost") as client:
    while client.get("/health/ready").status_code != 200:  # a busy machine takes longer than a probe waits
        pass
    for mode in ("best_span", "maxsim"):
        answer = client.post("/search", json={"collection": "cats", "text": "the cat sat", "mode": mode})
        assert answer.status_code == 200, answer.text
        assert answer.json()["hits"]
    answer = client.post("/spans", json={"phrases": ["the cat sat"], "texts": ["The cat sat.", "A dog barked."]})
    assert answer.status_code == 200, answer.text
    assert answer.json()["results"][0]["hits"]
"""
SPANS = """
import sys
from app.cli import cli
try:
    cli(["spans", "the cat sat", "--source", "cats.ndjson", "--json"])
except SystemExit as end:
    assert not end.code, end.code
"""


@pytest.fixture(scope="module")
def cats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a collection of the shipped encoder, with nuggets."""
    folder = tmp_path_factory.mktemp("cats")
    source = folder / "cats.ndjson"
    source.write_text('{"id": "a", "text": "The cat sat on the mat, and a dog barked."}\n')
    imported(COMMAND, folder, "init-db")
    imported(COMMAND, folder, "index", "-c", "cats", "--source", str(source), "--nugget-ratio", "0.25")
    return folder


@pytest.mark.parametrize("script", [SEARCHES, SERVER, SPANS], ids=["command line", "server", "spans"])
@pytest.mark.ci("starts processes")
def test_searches_need_no_torch(cats: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(cats)
    assert imported(script, cats) & {"torch", "transformers", "scipy.linalg", "sklearn"} == set()
