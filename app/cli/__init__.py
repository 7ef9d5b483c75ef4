"""The command line, ``spanseek``: options and settings become requests, answers become text or one line of JSON.

Commands import what they need when they run, so that ``--help`` and lists start fast.
"""

from collections.abc import Callable
from typing import Annotated, Any, NoReturn

import typer
from pydantic import ValidationError
from rich.text import Text

from app import __version__
from app.cli.aliases import aliases_cli
from app.cli.calibrations import calibrate, calibrations_cli
from app.cli.collections import collections_cli
from app.cli.console import err, out
from app.cli.documents import delete, documents_cli
from app.cli.index import index
from app.cli.keys import keys_cli
from app.cli.labels import label, labels_cli
from app.cli.maintenance import backup, init_db, optimize, stats, verify
from app.cli.mcp import mcp
from app.cli.mining import mine
from app.cli.phrases import phrases_cli
from app.cli.plan import plan
from app.cli.plugins import CommandGroup
from app.cli.preview import preview
from app.cli.reindex import reindex
from app.cli.restoring import restore, vectors
from app.cli.search import search
from app.cli.serve import serve
from app.cli.snapshots import snapshot_cli
from app.cli.spans import spans
from app.cli.tasks import tasks_cli
from app.cli.thresholds import thresholds_cli
from indexer.disk import full_disk_named, path_refused
from models.errors import InvalidInput, SpanseekError

cli = typer.Typer(
    name="spanseek",
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_PANELS: dict[str, dict[str, Callable[..., Any] | typer.Typer]] = {
    "Search": {
        "search": search,
        "mine": mine,
        "spans": spans,
        "restore": restore,
        "vectors": vectors,
        "phrases": phrases_cli,
    },
    "Documents": {
        "index": index,
        "reindex": reindex,
        "delete": delete,
        "documents": documents_cli,
        "collections": collections_cli,
        "aliases": aliases_cli,
    },
    "Tuning": {
        "preview": preview,
        "labels": labels_cli,
        "label": label,
        "calibrate": calibrate,
        "calibrations": calibrations_cli,
        "thresholds": thresholds_cli,
    },
    "Operation": {
        "serve": serve,
        "mcp": mcp,
        "tasks": tasks_cli,
        "keys": keys_cli,
        "plan": plan,
        "stats": stats,
        "optimize": optimize,
        "verify": verify,
        "snapshot": snapshot_cli,
        "backup": backup,
        "init-db": init_db,
    },
}


def _show_version(value: bool) -> None:
    if value:
        out.print(f"spanseek {__version__}", markup=False)
        raise typer.Exit


@cli.callback()
def spanseek(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Finds the phrase, not the page: spans of text that mean the same as an origin phrase."""


for panel, commands in _PANELS.items():
    for name, command in commands.items():
        if isinstance(command, typer.Typer):
            cli.add_typer(command, name=name, rich_help_panel=panel)
        else:
            cli.command(name, rich_help_panel=panel)(command)


def main() -> None:
    """Run a command. An expected error is a sentence and a hint, not a traceback."""
    try:
        with full_disk_named():
            cli()
    except SpanseekError as error:
        _fail(error)
    except ValidationError as error:
        _fail(_bad_setting(error))
    except OSError as error:
        if error.filename is None:
            raise
        _fail(path_refused(error))


def _bad_setting(error: ValidationError) -> InvalidInput:
    """The error for a setting that pydantic rejects."""
    first = error.errors()[0]
    name = "_".join(str(step) for step in first["loc"])
    return InvalidInput(
        f"The setting {name} cannot be {first['input']!r}: {first['msg']}.",
        hint=f"Correct SPANSEEK_{name.upper()} in the environment or in .env, or the option --{name}.",
        field=name,
    )


def _fail(error: SpanseekError) -> NoReturn:
    err.print(Text(f"Error: {error}", style="red"), soft_wrap=True)
    if error.hint:
        err.print(error.hint, soft_wrap=True, markup=False)
    raise SystemExit(1)
