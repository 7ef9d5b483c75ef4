"""Commands and plots of plug-ins and of the research distribution, found through entry points.

The product runs without them. A command that is not installed says how to install it.
"""

from importlib.metadata import EntryPoint
from typing import Any, Final

import typer
from typer.core import TyperGroup

from models.entry_points import EXTRAS, entry_points_of
from models.errors import ExtraMissing, InvalidInput

RESEARCH_COMMANDS = ("bench", "eval", "train")
# The extras that have the other commands.
_EXTRAS: Final = EXTRAS["spanseek.commands"]
_HINT = "Run `pip install spanseek-research`, or `pip install -e research` in a checkout of the source."


class ResearchMissing(InvalidInput):
    """A command or a plot needs the research distribution, which is not installed."""

    code = "research_missing"


class CommandGroup(TyperGroup):
    """The product's commands and the ones of the entry-point group ``spanseek.commands``, loaded when called.

    Each is a function or a Typer, which may have a panel of its own in the help.
    """

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401  the class of contexts is private to typer
        """The product's commands, then the installed ones of plug-ins and of research."""
        return [*super().list_commands(ctx), *sorted(entry_points_of("spanseek.commands"), key=_rank)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401  as in typer
        """A command by name. Raises ``ResearchMissing`` or ``ExtraMissing`` for one that is not installed."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            return command
        point = entry_points_of("spanseek.commands").get(cmd_name)
        if point is not None:
            return _command(point)
        if cmd_name in RESEARCH_COMMANDS:
            raise _research_missing(f"The command spanseek {cmd_name}")
        if cmd_name in _EXTRAS:
            raise ExtraMissing(f"The command spanseek {cmd_name} needs", _EXTRAS[cmd_name])
        return None


def plots() -> Any:  # noqa: ANN401  typed by the caller
    """The module that draws. Raises ``ResearchMissing``."""
    point = entry_points_of("spanseek.plots").get("tuning")
    if point is None:
        raise _research_missing("The option --plot")
    return point.load()


def _rank(name: str) -> tuple[bool, str]:
    return name in RESEARCH_COMMANDS, name


def _command(point: EntryPoint) -> Any:  # noqa: ANN401  as in typer
    loaded = point.load()
    if not isinstance(loaded, typer.Typer):
        loaded, function = typer.Typer(add_completion=False), loaded
        loaded.command(point.name)(function)
    command: Any = typer.main.get_command(loaded)
    command.name = point.name
    panel = loaded.rich_help_panel
    command.rich_help_panel = panel if isinstance(panel, str) else "Plug-ins"
    return command


def _research_missing(what: str) -> ResearchMissing:
    return ResearchMissing(f"{what} comes with the distribution spanseek-research.", hint=_HINT)
