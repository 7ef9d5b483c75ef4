"""What a command imports before it can answer. Seconds differ from machine to machine; names do not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"alembic", "numba", "pyarrow", "scipy", "sqlalchemy", "torch", "transformers"}
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
        env=os.environ | {"SPANSEEK_DATA_DIR": str(data_dir)},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("arguments", [["--help"], ["search", "--help"], ["keys", "--help"]])
def test_help_needs_nothing(tmp_path: Path, arguments: list[str]) -> None:
    assert imported(COMMAND, tmp_path, *arguments) == set()


@pytest.mark.parametrize("arguments", [["collections"], ["keys", "list"]])
def test_lists_need_no_search(tmp_path: Path, arguments: list[str]) -> None:
    imported(COMMAND, tmp_path, "init-db")
    assert imported(COMMAND, tmp_path, *arguments) <= {"pyarrow", "sqlalchemy"}


def test_phrases_are_listed_without_the_kernels(tmp_path: Path) -> None:
    assert imported("import indexer.catalog.phrases", tmp_path) <= {"pyarrow", "sqlalchemy"}


def test_an_encoder_without_a_backbone_needs_no_network(tmp_path: Path) -> None:
    assert imported(ENCODER, tmp_path) == set()
