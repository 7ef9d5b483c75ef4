"""Phrases to mine, from a file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from app.requests import MAX_MINED, MinedPhrase
from indexer.ndjson import InvalidLine, read_ndjson
from models.errors import InvalidInput

_PHRASE: Final = TypeAdapter(MinedPhrase)


def read_phrases(path: Path) -> tuple[MinedPhrase, ...]:
    """The phrases of a file: of ``.ndjson`` an object with ``text`` and perhaps ``name`` a line, else a text a line.

    Blank lines are left out. Raises ``InvalidInput``, with the line.
    """
    try:
        data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.", field="phrases") from error
    phrases = tuple(_objects(data) if path.suffix == ".ndjson" else _texts(data))
    if not 1 <= len(phrases) <= MAX_MINED:
        raise InvalidInput(f"{path} has {len(phrases):,} phrases; 1 to {MAX_MINED:,} are mined.", field="phrases")
    return phrases


def _texts(data: bytes) -> Iterator[MinedPhrase]:
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                yield _checked(number, {"text": line.decode().strip()})
            except UnicodeDecodeError as error:
                raise _refused(number, "it is not UTF-8") from error


def _objects(data: bytes) -> Iterator[MinedPhrase]:
    for number, value in read_ndjson(data.split(b"\n")):
        if isinstance(value, InvalidLine):
            raise _refused(number, value.reason)
        yield _checked(number, value)


def _checked(number: int, value: object) -> MinedPhrase:
    try:
        return _PHRASE.validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "phrase"
        raise _refused(number, f"{where}: {first['msg']}") from error


def _refused(number: int, reason: str) -> InvalidInput:
    return InvalidInput(
        f"Line {number} is no phrase: {reason}.",
        hint='Write a text a line; or, in a file `.ndjson`, {"text": "...", "name": "..."}.',
        field="phrases",
    )
