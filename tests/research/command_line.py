"""The command line of research as it is typed, in this process."""

import json
from typing import Any

from typer.testing import CliRunner

from app.cli import cli


def run(*arguments: str) -> str:
    """What a command prints on standard output, once it has succeeded."""
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def run_json(*arguments: str) -> Any:
    """The one line that a command prints with ``--json``."""
    (line,) = run(*arguments, "--json").splitlines()
    return json.loads(line)
