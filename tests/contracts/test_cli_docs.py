"""``docs/cli.md`` and ``research/notes/cli.md`` have every command and option, an example of each, and nothing else."""

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import typer

from app.cli import cli

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


@cache
def commands() -> dict[str, Any]:
    return dict(walk(typer.main.get_command(cli), "spanseek"))


def options(command: Any) -> set[str]:
    return {name for parameter in command.params for name in parameter.opts if name.startswith("-")} - {"--help", "-h"}


def documented(section: str) -> set[str]:
    rows = re.findall(r"^\| (`-[^|]*) \|", section, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(-[^`]*)`", row)}


def test_every_command_has_its_section_and_no_other_is_there() -> None:
    assert SECTIONS.keys() == commands().keys()


def test_every_option_is_documented() -> None:
    for name, command in commands().items():
        denials = {option for parameter in command.params for option in parameter.secondary_opts}
        assert documented(SECTIONS[name]) - denials == options(command), name


def test_every_command_has_an_example_that_it_understands() -> None:
    for name, command in commands().items():
        examples = re.findall(r"^```sh\n(.*?)^```", SECTIONS[name], re.DOTALL | re.MULTILINE)
        lines = [line for example in examples for line in example.splitlines()]
        assert lines, name
        for line in lines:
            assert line.startswith(name)
            with command.make_context(name, shlex.split(line.removeprefix(name))):
                pass


def test_every_command_and_option_helps() -> None:
    parameters = [(name, parameter) for name, command in commands().items() for parameter in command.params]
    assert [name for name, command in commands().items() if not command.help] == []
    assert [f"{name} {each.name}" for name, each in parameters if not getattr(each, "help", None)] == []
