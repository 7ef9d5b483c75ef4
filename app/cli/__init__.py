"""The command line: ``spanseek``. Settings become objects here, results become text or one line of JSON.

Commands import what they work with when they run: ``--help`` should not wait for a database, nor a list for numba.
"""

from typing import NoReturn

import typer
from pydantic import ValidationError
from rich.text import Text

from app.cli.calibrate import calibrate
from app.cli.calibrations import calibrations_cli
from app.cli.candidates import candidates
from app.cli.console import err
from app.cli.documents import delete, optimize, stats
from app.cli.index import index
from app.cli.keys import keys_cli
from app.cli.maintenance import backup, collections, init_db, verify
from app.cli.phrases import phrases_cli
from app.cli.previews import preview
from app.cli.research import CommandGroup
from app.cli.search import search
from app.cli.serve import serve
from app.cli.thresholds import thresholds_cli
from models.errors import InvalidInput, SpanseekError

cli = typer.Typer(
    name="spanseek",
    cls=CommandGroup,
    help="Finds the phrase, not the page: spans of text that mean the same as an origin phrase.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    index,
    search,
    preview,
    candidates,
    calibrate,
    serve,
    collections,
    delete,
    optimize,
    stats,
    verify,
    backup,
    init_db,
):
    cli.command()(command)
cli.add_typer(keys_cli, name="keys")
cli.add_typer(phrases_cli, name="phrases")
cli.add_typer(calibrations_cli, name="calibrations")
cli.add_typer(thresholds_cli, name="thresholds")


def main() -> None:
    """Run a command; an error that Spanseek foresaw is a sentence and what to do about it, not a traceback."""
    try:
        cli()
    except SpanseekError as error:
        _fail(error)
    except ValidationError as error:
        _fail(_bad_setting(error))


def _bad_setting(error: ValidationError) -> InvalidInput:
    """What pydantic says of a setting, as a sentence."""
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
