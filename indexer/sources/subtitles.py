"""WebVTT and SubRip: a cue is a part, with its time codes and its speaker as metadata."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Final

from indexer.errors import InvalidDocument
from indexer.sources.documents import MAX_PARTS, checked_id, checked_text
from indexer.sources.plain import text_of
from indexer.sources.records import Found, Reading, refuse
from models.types import Document, JsonValue, Part

_CODE: Final = r"(?:(\d{1,4}):)?([0-5]?\d):([0-5]?\d)[.,](\d{1,3})"
_TIMES: Final = re.compile(rf"\s*{_CODE}\s+-->\s+{_CODE}(?:\s.*)?", re.ASCII)
_VOICE: Final = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]*)>")
_TAG: Final = re.compile(r"</?[A-Za-z][^>]*>|<[\d:.]+>|\{\\[^}]*\}")
_COMMENT: Final = re.compile(r"(?:NOTE|STYLE|REGION)\b")


def read_subtitles(reading: Reading) -> Iterator[Found]:
    """A file is one document: a part a cue, ``start`` and ``end`` in seconds, ``speaker`` where a voice is marked.

    Blocks of text without time codes are reported, each with its line.
    """
    broken: list[int] = []
    yield 1, lambda: _document(reading, broken)
    for line in broken:
        yield line, lambda: refuse("a cue without a line of two time codes and -->")


def _document(reading: Reading, broken: list[int]) -> Document:
    text = text_of(reading)
    parts = tuple(cues(text))
    if not parts:
        raise InvalidDocument("the file holds no cue: no line with two time codes and -->")
    if len(parts) > MAX_PARTS:
        raise InvalidDocument(f"the file has {len(parts):,} cues; at most {MAX_PARTS:,} are allowed")
    broken += (line for line, lines, times in _blocks(text) if times is None and not _is_header(line, lines))
    return Document(checked_id(reading.document_id), parts)


def cues(text: str) -> Iterator[Part]:
    r"""The cues of a file as parts. Markup is removed.

    >>> [*cues("1\n00:00:01,500 --> 00:00:02,000\n<i>Hello</i>\nthere.\n")]
    [Part(text='Hello\nthere.', metadata={'start': 1.5, 'end': 2.0})]
    """
    for _, lines, times in _blocks(text):
        if times is not None:
            part = _part(_TIMES.fullmatch(lines[times]), "\n".join(lines[times + 1 :]))
            if part.text:
                yield part


def _blocks(text: str) -> Iterator[tuple[int, list[str], int | None]]:
    """The blocks between empty lines, without comments: first line, lines, and which of them has the time codes."""
    lines = [*text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), ""]
    block: list[str] = []
    for number, line in enumerate(lines, 1):
        if line.strip(" \t"):
            block.append(line)
            continue
        if block and not _COMMENT.match(block[0]):
            yield number - len(block), block, next((at for at in (0, 1) if _is_times(block, at)), None)
        block = []


def _is_times(block: list[str], at: int) -> bool:
    return at < len(block) and _TIMES.fullmatch(block[at]) is not None


def _is_header(line: int, block: list[str]) -> bool:
    return line == 1 and block[0].lstrip("\ufeff").startswith("WEBVTT")


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
