"""Mailboxes: messages one after the other, each after a line that begins with ``From``."""

import re
from collections.abc import Iterator
from functools import partial
from itertools import chain, pairwise
from typing import Final

from indexer.errors import SourceUnreadable
from indexer.sources.records import MAX_RECORD, Found, Reading
from spanseek_files.isolated import isolated
from spanseek_files.mail.messages import message_document
from spanseek_files.nested import inside

_FROM: Final = b"From "
_QUOTED_FROM: Final = re.compile(rb">+From ")
# A message begins with a header; some programs write another line of this kind before it.
_HEADER: Final = re.compile(rb"(?:[!-9;-~]+[ \t]*:|>From )")
_MOMENT: Final = re.compile(rb"\d{1,2}:\d\d(?::\d\d)?\b.*\b\d{4}\b")


@isolated("a message")
def read_mailbox(reading: Reading) -> Iterator[Found]:
    """A mailbox is a document a message; the id is the file's name and the message's number."""
    for number, (line, data) in enumerate(_split(reading), 1):
        inner = inside(reading, f"{reading.document_id}:{number}", data)
        inner.lost = reading.lost
        inner.depth = reading.depth
        yield line, partial(message_document, inner)


def _split(reading: Reading) -> Iterator[tuple[int, bytes]]:
    """The messages of a mailbox with their first lines."""
    message: list[bytes] = []
    size, first, was_empty = 0, 1, True
    lines = iter(partial(reading.file.readline, MAX_RECORD), b"")
    for number, (line, after) in enumerate(pairwise(chain(lines, [b""])), 1):
        if _begins(line, after, is_apart=was_empty):
            if message:
                yield first, b"".join(message)
            message, size, first = [], 0, number
            was_empty = False
            continue
        size += len(line)
        if size > MAX_RECORD:
            raise SourceUnreadable(f"a message has more than {MAX_RECORD:,} bytes")
        was_empty = not line.strip()
        message.append(line[1:] if _QUOTED_FROM.match(line) else line)
    if message:
        yield first, b"".join(message)


def _begins(line: bytes, after: bytes, *, is_apart: bool) -> bool:
    """True if a message begins after a line: texts have lines that begin with ``From``, too, and no header follows.

    >>> _begins(b"From now on I will not pay.\\n", b"It is too high.\\n", is_apart=True)
    False
    """
    if not line.startswith(_FROM) or not _HEADER.match(after):
        return False
    return is_apart or _MOMENT.search(line) is not None
