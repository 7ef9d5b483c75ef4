"""Common parts of all commands: the two consoles, one line of JSON, common options, settings and an open store."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from app.settings import IndexEngine, Settings

if TYPE_CHECKING:
    from app.services import Services
    from indexer.store import Store

# Line ends, and control characters that would let a document write escape sequences to the terminal.
_CONTROLS = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029], " ")

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

CollectionOption = Annotated[str, typer.Option("--collection", "-c", help="The collection's name.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one line of JSON, last on standard output.")]

IndexEngineOption = Annotated[
    IndexEngine | None,
    typer.Option("--engine", help="Where to encode: `local`, or `ray`; without it `SPANSEEK_INDEX_ENGINE`."),
]


@contextmanager
def open_services(settings: Settings | None = None, *, create: bool = False) -> Iterator["Services"]:
    """The services over :func:`checked_store`."""
    from app.services import Services

    settings = settings or Settings()
    with checked_store(settings, create=create) as store:
        yield Services(settings, store)


@contextmanager
def checked_store(settings: Settings | None = None, *, create: bool = False) -> Iterator["Store"]:
    """The store, with a checked catalog. With ``create``, an embedded database is created or upgraded.

    A data folder that the settings name is never created here: ``spanseek init-db`` does that.
    """
    from app.services import open_store, require_data_folder
    from indexer.catalog import schema

    settings = settings or Settings()
    require_data_folder(settings, create=create)
    if create and not settings.database_url:
        schema.upgrade(settings.catalog_url)
    store = open_store(settings)
    try:
        schema.check(store.catalog)
        yield store
    finally:
        store.close()


def settings_with(**given: str | int | Path | None) -> Settings:
    """The settings, overridden by options of the command."""
    return Settings().model_copy(update={name: value for name, value in given.items() if value is not None})


def print_json(value: object) -> None:
    """Print one line of JSON on standard output."""
    # In ASCII: some readers end a line at U+0085 and U+2028, and some terminals write nothing else.
    out.file.write(json.dumps(value) + "\n")


def counted(number: int, noun: str) -> str:
    """A number with its noun in the singular or the plural.

    >>> counted(1, "hit"), counted(2, "hit"), counted(1200, "label candidate")
    ('1 hit', '2 hits', '1,200 label candidates')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def one_line(text: str) -> str:
    """A text on one line, harmless to a terminal."""
    return text.translate(_CONTROLS)


def marked(text: str, console: Console) -> Text:
    """A text that stands out: reversed on a terminal, in double brackets in a pipe or a log."""
    line = one_line(text)
    return Text(f"[[{line}]]") if console.color_system is None else Text(line, "bold reverse")
