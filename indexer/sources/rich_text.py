"""Rich text (``.rtf``), through striprtf."""

import re
from collections.abc import Iterator
from typing import Final

from indexer.errors import InvalidDocument
from indexer.sources.compose import composed, guarded_parser
from indexer.sources.records import Found, Reading
from models.types import Document, Part

_MAX_GROUPS: Final = 2_000_000
_MARGIN: Final = re.compile(r"\{\\(header|footer)[lrf]?(?![a-z])")


def read_rich_text(reading: Reading) -> Iterator[Found]:
    """A file is one document: a part a paragraph, or a row of a table."""
    yield 1, lambda: _document(reading)


@guarded_parser("rich text")
def _document(reading: Reading) -> Document:
    data = reading.whole()
    if not data.lstrip().startswith(b"{\\rtf"):
        raise InvalidDocument("not rich text: it does not begin with {\\rtf")
    if data.count(b"{") > _MAX_GROUPS:
        raise InvalidDocument(f"it has more than {_MAX_GROUPS:,} groups")
    objects = data.count(b"\\objdata")
    if objects:
        reading.lost.append(f"{objects:,} embedded object{'s' * (objects > 1)}")
    source = data.decode("latin-1")
    parts = [Part(line) for line in _lines(source)]
    margins = {(kind, line): None for kind, inner in _margins(source) for line in _lines(f"{{\\rtf1\\ansi {inner}}}")}
    heads = [Part(line, {"kind": kind}) for kind, line in margins if kind == "header"]
    feet = [Part(line, {"kind": kind}) for kind, line in margins if kind == "footer"]
    return composed(reading, [*heads, *parts, *feet], {})


def _lines(source: str) -> list[str]:
    from striprtf.striprtf import rtf_to_text

    text = rtf_to_text(source, encoding="cp1252", errors="replace")
    return [line.strip() for line in text.split("\n") if line.strip()]


def _margins(source: str) -> Iterator[tuple[str, str]]:
    """The groups of headers and footers, which striprtf leaves out."""
    for match in _MARGIN.finditer(source):
        depth, at = 1, match.end()
        while depth and at < len(source):
            depth += {"{": 1, "}": -1}.get(source[at], 0)
            at += 2 if source[at] == "\\" else 1
        yield match[1], source[match.end() : at - 1]
