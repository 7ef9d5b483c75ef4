"""Commands and plots that the research distribution adds, found through entry points.

The product runs without them. A command that is not installed says how to install it.
"""

from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer
from typer.core import TyperGroup

from models.errors import InvalidInput

RESEARCH_COMMANDS = ("bench", "eval", "train")
_HINT = "Run `pip install spanseek-research`, or `pip install -e research` in a checkout of the source."


class ResearchMissing(InvalidInput):
    """A command or a plot needs the research distribution, which is not installed."""

    code = "research_missing"


class CommandGroup(TyperGroup):
    """The product's commands and the ones of the entry-point group ``spanseek.commands``, loaded when called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401  the class of contexts is private to typer
        """The product's commands, then the installed ones of research."""
        return [*super().list_commands(ctx), *(name for name in RESEARCH_COMMANDS if _entry_point("commands", name))]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401  as in typer
        """A command by name. Raises ``ResearchMissing`` for one of research that is not installed."""
        command = super().get_command(ctx, cmd_name)
        if command is not None or cmd_name not in RESEARCH_COMMANDS:
            return command
        loaded: Any = typer.main.get_command(load("commands", cmd_name, f"The command spanseek {cmd_name}"))
        loaded.name, loaded.rich_help_panel = cmd_name, "Research"
        return loaded


def load(group: str, name: str, what: str) -> Any:  # noqa: ANN401  an entry point may be anything
    """The object of an entry point. Raises ``ResearchMissing`` where it is not installed."""
    entry_point = _entry_point(group, name)
    if entry_point is None:
        raise ResearchMissing(f"{what} comes with the distribution spanseek-research.", hint=_HINT)
    return entry_point.load()


def _entry_point(group: str, name: str) -> EntryPoint | None:
    return next(iter(entry_points(group=f"spanseek.{group}", name=name)), None)
