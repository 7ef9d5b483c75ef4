"""Messages of RFC 5322 and mailboxes of them, by the standard library."""

import email
import email.message
import email.policy
import email.utils
from collections.abc import Iterator
from contextlib import suppress
from email.message import EmailMessage, MIMEPart
from functools import partial
from typing import Final

from indexer.errors import InvalidDocument, SourceUnreadable
from indexer.sources.compose import composed, guarded_parser
from indexer.sources.mail.bodies import body_parts, text_of_page
from indexer.sources.nested import DEEPEST, inside, nested_parts
from indexer.sources.records import MAX_RECORD, Found, Reading
from models.types import Document, JsonValue, Part

_ADDRESSES: Final = ("from", "to", "cc")
_FROM: Final = b"From "


def read_message(reading: Reading) -> Iterator[Found]:
    """A message is one document: a part a paragraph, ``quoted`` where it is, and parts of its attachments.

    Its metadata are ``subject``, ``from``, ``to``, ``cc``, ``date`` and ``message_id``.
    """
    yield 1, lambda: _document(reading)


def read_mailbox(reading: Reading) -> Iterator[Found]:
    """A mailbox is a document a message; the id is the file's name and the message's number."""
    for number, (line, data) in enumerate(_split(reading), 1):
        inner = inside(reading, f"{reading.document_id}:{number}", data)
        inner.lost = reading.lost
        inner.depth = reading.depth
        yield line, partial(_document, inner)


def _split(reading: Reading) -> Iterator[tuple[int, bytes]]:
    """The messages of a mailbox with their first lines: ``From `` after an empty line begins one."""
    message: list[bytes] = []
    size, first, was_empty = 0, 1, True
    for number, line in enumerate(iter(partial(reading.file.readline, MAX_RECORD), b""), 1):
        if was_empty and line.startswith(_FROM):
            if message:
                yield first, b"".join(message)
            message, size, first = [], 0, number
            was_empty = False
            continue
        size += len(line)
        if size > MAX_RECORD:
            raise SourceUnreadable(f"a message has more than {MAX_RECORD:,} bytes")
        was_empty = not line.strip()
        message.append(line[1:] if line.lstrip(b">").startswith(_FROM) and line.startswith(b">") else line)
    if message:
        yield first, b"".join(message)


@guarded_parser("a message")
def _document(reading: Reading) -> Document:
    message = email.message_from_bytes(reading.whole(), policy=email.policy.default)
    if not message.keys():
        raise InvalidDocument("not a message: it has no headers")
    return composed(reading, [*_parts(reading, message)], headers(message))


def headers(message: EmailMessage) -> dict[str, JsonValue]:
    """The headers of a message that are metadata."""
    found: dict[str, JsonValue] = {"subject": _header(message, "subject"), "message_id": _header(message, "message-id")}
    for name in _ADDRESSES:
        pairs = email.utils.getaddresses([_header(message, name)])
        people = [f"{person} <{address}>" if person else address for person, address in pairs if address]
        found[name] = people[0] if name == "from" and people else people
    with suppress(ValueError, TypeError):
        found["date"] = email.utils.parsedate_to_datetime(_header(message, "date")).isoformat()
    return found


def _header(message: EmailMessage, name: str) -> str:
    try:
        return " ".join(str(message.get(name, "")).split())
    except Exception:  # noqa: BLE001 - the standard library raises IndexError and others for malformed headers
        return ""


def _parts(reading: Reading, message: EmailMessage, level: int = 0) -> Iterator[Part]:
    body = message.get_body(("plain", "html"))
    if body is not None:
        yield from body_parts(_text(body))
    for attached in _attached(message, body):
        name = attached.get_filename() or _unnamed(attached)
        if attached.get_content_type() == "message/rfc822":
            yield from _forwarded(reading, attached, level)
        else:
            data = attached.get_payload(decode=True)
            yield from nested_parts(reading, name, data if isinstance(data, bytes) else b"")


def _attached(message: MIMEPart, body: MIMEPart | None) -> Iterator[MIMEPart]:
    """The leaves of a message that are no other form of its body."""
    waiting: list[MIMEPart] = [message]
    while waiting:
        part = waiting.pop(0)
        if part.get_content_maintype() == "multipart":
            is_form = part.get_content_type() == "multipart/alternative" and body is not None
            waiting[:0] = [each for each in part.iter_parts() if not is_form or each.is_multipart()]
        elif part is not body:
            yield part


def _forwarded(reading: Reading, attached: MIMEPart, level: int) -> Iterator[Part]:
    inner = attached.get_payload(0)
    if level + reading.depth >= DEEPEST or not isinstance(inner, EmailMessage):
        reading.lost.append(f"a message that lies deeper than {DEEPEST} files")
        return
    subject = _header(inner, "subject")
    yield from (
        Part(part.text, {**part.metadata, "attachment": subject or "message"})
        for part in _parts(reading, inner, level + 1)
    )


def _text(body: MIMEPart) -> str:
    """The text of a body, whatever it says about its encoding."""
    data = body.get_payload(decode=True)
    raw = data if isinstance(data, bytes) else b""
    if body.get_content_subtype() == "html":
        charset = body.get_content_charset()
        return text_of_page(raw.decode(charset, "replace") if charset and _is_known(charset) else raw)
    text = raw.decode(_charset(raw, body.get_content_charset()), "replace")
    return _flowed(text) if body.get_param("format") == "flowed" else text


def _charset(raw: bytes, named: str | None) -> str:
    if named and _is_known(named):
        return "cp1252" if named.lower() in ("us-ascii", "ascii", "iso-8859-1") and not raw.isascii() else named
    try:
        raw.decode()
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _is_known(charset: str) -> bool:
    try:
        b"".decode(charset)
    except LookupError:
        return False
    return True


def _flowed(text: str) -> str:
    """Text of RFC 3676: a line that ends with a space goes on, and a first space is stuffing."""
    lines = (line[1:] if line.startswith(" ") else line for line in text.replace("\r\n", "\n").split("\n"))
    out = ""
    for line in lines:
        out += line if line.endswith(" ") and line != "-- " and not line.startswith(">") else f"{line}\n"
    return out


def _unnamed(attached: MIMEPart) -> str:
    """A name for an attachment without one, by its kind."""
    subtype = attached.get_content_subtype()
    ending = {"plain": "txt", "calendar": "ics", "markdown": "md", "csv": "csv", "rtf": "rtf"}.get(subtype, subtype)
    return f"unnamed.{ending}"
