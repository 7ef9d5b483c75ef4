"""WebVTT and SubRip: a cue is a part, with its time codes and its speaker as metadata."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Final

from indexer.documents import MAX_PARTS, checked_id, checked_text
from indexer.errors import InvalidDocument
from indexer.sources.plain import text_of
from indexer.sources.records import Found, Reading
from models.types import Document, JsonValue, Part

_CODE: Final = r"(?:(\d{1,4}):)?([0-5]?\d):([0-5]?\d)[.,](\d{1,3})"
_TIMES: Final = re.compile(rf"\s*{_CODE}\s+-->\s+{_CODE}(?:\s.*)?", re.ASCII)
_VOICE: Final = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]*)>")
_TAG: Final = re.compile(r"</?[A-Za-z][^>]*>|<[\d:.]+>|\{\\[^}]*\}")
_COMMENT: Final = re.compile(r"(?:NOTE|STYLE|REGION)\b")


def read_subtitles(reading: Reading) -> Iterator[Found]:
    """A file is one document: a part a cue, ``start`` and ``end`` in seconds, ``speaker`` where a voice is marked."""
    yield 1, lambda: _document(reading)


def _document(reading: Reading) -> Document:
    parts = tuple(cues(text_of(reading)))
    if not parts:
        raise InvalidDocument("the file holds no cue: no line with two time codes and -->")
    if len(parts) > MAX_PARTS:
        raise InvalidDocument(f"the file has {len(parts):,} cues; at most {MAX_PARTS:,} are allowed")
    return Document(checked_id(reading.document_id), parts)


def cues(text: str) -> Iterator[Part]:
    r"""The cues of a file as parts. Markup is removed.

    >>> [*cues("1\n00:00:01,500 --> 00:00:02,000\n<i>Hello</i>\nthere.\n")]
    [Part(text='Hello\nthere.', metadata={'start': 1.5, 'end': 2.0})]
    """
    for block in re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n").replace("\r", "\n")):
        lines = block.strip("\n").split("\n")
        number = next((number for number, line in enumerate(lines[:2]) if _TIMES.fullmatch(line)), None)
        if number is not None and not _COMMENT.match(lines[0]):
            part = _part(_TIMES.fullmatch(lines[number]), "\n".join(lines[number + 1 :]))
            if part.text:
                yield part


def _part(times: re.Match[str] | None, body: str) -> Part:
    if times is None:
        raise AssertionError("a cue has time codes")
    codes = times.groups()
    metadata: dict[str, JsonValue] = {"start": _seconds(*codes[:4]), "end": _seconds(*codes[4:])}
    voice = _VOICE.search(body)
    if voice:
        metadata["speaker"] = unescape(voice[1]).strip()
    return Part(checked_text(unescape(_TAG.sub("", body)).strip()), metadata)


def _seconds(hours: str | None, minutes: str, seconds: str, fraction: str) -> float:
    whole = 3600 * int(hours or 0) + 60 * int(minutes) + int(seconds)
    return round(whole + int(fraction.ljust(3, "0")) / 1000, 3)
