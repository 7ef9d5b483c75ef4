"""Readers that do what readers of broken files may do: each reads text, one document a line, and does it at a word."""

import os
import signal
from collections.abc import Iterator

from indexer.sources import formats
from indexer.sources.records import Found, Reading
from models.types import Document, Part
from spanseek_files.isolated import allow, isolated
from spanseek_files.nested import nested_parts


def _document(reading: Reading, number: int, word: str) -> Document:
    if word == "allocate":
        return Document("a", (Part("a" * 2**31),))
    if word == "abort":
        os.abort()
    if word == "be killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if word == "work on":
        allow(0)
        while True:
            pass
    if word == "fail":
        raise KeyError(word)
    reading.lose(1, "mark", f" of line {number}")
    reading.notice = f"{number} lines"
    return Document(str(number), (Part(word, {"process": os.getpid()}),))


@isolated("a test")
def read_odd(reading: Reading) -> Iterator[Found]:
    """A document a line."""
    for number, line in enumerate(reading.whole().decode().split("\n"), 1):
        yield number, lambda number=number, line=line: _document(reading, number, line)  # type: ignore[misc]


@isolated("a test")
def read_around(reading: Reading) -> Iterator[Found]:
    """One document, each line of which is a file within it."""
    formats.READERS[".odd"] = read_odd
    lines = reading.whole().split(b"\n")
    parts = [part for line in lines for part in nested_parts(reading, "x.odd", line)]
    yield 1, lambda: Document("a", tuple(parts))
