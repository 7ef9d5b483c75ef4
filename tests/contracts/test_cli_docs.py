"""``docs/cli.md`` and ``research/notes/cli.md`` have every command and option, an example of each, and nothing else."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer

from app.cli import cli
from research.training.batches import Shape
from research.training.config import Weights
from research.training.losses import DistillationWeights

ROOT = Path(__file__).parents[2]
DOCS = "\n".join((ROOT / page).read_text("utf-8") for page in ("docs/cli.md", "research/notes/cli.md"))
SECTIONS = dict(re.findall(r"^## (spanseek [^\n]+)\n(.*?)(?=^## |\Z)", DOCS, re.DOTALL | re.MULTILINE))


def walk(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """All commands, by name; deprecated ones are hidden."""
    if command.hidden:
        return
    if not hasattr(command, "commands"):
        yield name, command
        return
    context = typer.Context(command)
    for word in command.list_commands(context):
        yield from walk(command.get_command(context, word), f"{name} {word}")


COMMANDS = dict(walk(typer.main.get_command(cli), "spanseek"))


def options(command: Any) -> set[str]:
    return {name for parameter in command.params for name in parameter.opts if name.startswith("-")} - {"--help", "-h"}


def documented(section: str) -> set[str]:
    rows = re.findall(r"^\| (`-[^|]*) \|", section, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(-[^`]*)`", row)}


def test_every_command_has_its_section_and_no_other_is_there() -> None:
    assert SECTIONS.keys() == COMMANDS.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_documented(name: str) -> None:
    denials = {name for parameter in COMMANDS[name].params for name in parameter.secondary_opts}
    assert documented(SECTIONS[name]) - denials == options(COMMANDS[name])


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_that_it_understands(name: str) -> None:
    examples = re.findall(r"^```sh\n(.*?)^```", SECTIONS[name], re.DOTALL | re.MULTILINE)
    lines = [line for example in examples for line in example.splitlines()]
    assert lines
    for line in lines:
        assert line.startswith(name)
        with COMMANDS[name].make_context(name, shlex.split(line.removeprefix(name))):
            pass


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_helps(name: str) -> None:
    assert COMMANDS[name].help
    for parameter in COMMANDS[name].params:
        assert getattr(parameter, "help", None), f"{name} {parameter.name}"


@pytest.mark.parametrize(("option", "kinds"), [("--draw", [Shape]), ("--weight", [Weights, DistillationWeights])])
def test_every_name_that_may_be_set_is_documented(option: str, kinds: list[Any]) -> None:
    row = next(line for line in SECTIONS["spanseek train slice"].splitlines() if line.startswith(f"| `{option}`"))
    assert {field.name for kind in kinds for field in fields(kind)} <= set(re.findall(r"`(\w+)`", row))
