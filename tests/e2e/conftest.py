"""The command line as it is typed, in one process: what it prints and what it exits with, and never a traceback."""

import json
import sys
from pathlib import Path

import pytest

from app.cli import main
from tests.e2e.commands import CALLS, Outcome, Run


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPANSEEK_ENCODER", "hashing")
    lines = [json.dumps(call) for call in CALLS]
    (tmp_path / "calls.ndjson").write_text("\n".join([*lines, "{broken"]) + "\n")
    return tmp_path / "data"


@pytest.fixture
def run(data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["spanseek", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit:
            main()
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        code = exit.value.code
        return Outcome(code if isinstance(code, int) else int(code is not None), out, err)

    return run


@pytest.fixture
def calls(run: Run) -> Outcome:
    return run("index", "--collection", "calls", "--source", "calls.ndjson", "--json")
