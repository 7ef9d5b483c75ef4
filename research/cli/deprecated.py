"""Old command names, which answer for one version with a note on standard error."""

from collections.abc import Mapping

import typer

from app.cli.console import err

_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def add_deprecated(group: typer.Typer, old: str, new: str, options: Mapping[str, str] | None = None) -> None:
    """Let the hidden command ``old`` run the command ``new`` with the same arguments, renaming some ``options``."""

    @group.command(old, hidden=True, context_settings=_PASS_ON)
    def alias(context: typer.Context) -> None:
        parent = context.parent
        assert parent is not None  # noqa: S101  a command of a group
        path = parent.command_path
        err.print(f"{path} {old} is deprecated; use {path} {new}.", style="yellow", soft_wrap=True)
        command = parent.command.get_command(parent, new)  # type: ignore[attr-defined]
        arguments = [_renamed(argument, options or {}) for argument in context.args]
        with command.make_context(new, arguments, parent=parent) as called:
            command.invoke(called)


def _renamed(argument: str, options: Mapping[str, str]) -> str:
    """An argument with the new name of its option.

    >>> _renamed("--judge=folder", {"--judge": "--cross-encoder"})
    '--cross-encoder=folder'
    """
    name, equals, value = argument.partition("=")
    return options.get(name, name) + equals + value
