"""Messages of RFC 5322, by the standard library."""

import binascii
import codecs
import email
import email.message
import email.policy
import email.utils
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import EmailMessage, MIMEPart
from functools import partial
from pathlib import Path
from typing import Final, cast

from indexer.disk import shortage
from indexer.errors import InvalidDocument
from indexer.sources.encodings import WESTERN, errors_of, labelled_codec
from indexer.sources.records import Found, Reading
from models.types import Document, JsonValue, Part
from spanseek_files.compose import composed
from spanseek_files.isolated import isolated
from spanseek_files.mail.bodies import body_parts, text_of_page
from spanseek_files.nested import DEEPEST, TOO_DEEP, nested_parts

_ADDRESSES: Final = ("from", "to", "cc")
_ASCII: Final = ("us-ascii", "ascii")
_TEXT: Final = ("text", "message", "multipart")
_NO_TEXT: Final = ("image", "audio", "video", "font")
_OFFICE: Final = "application/vnd.openxmlformats-officedocument."
_OPEN: Final = "application/vnd.oasis.opendocument."
# Characters that are read of a header such as ``Content-Type``: the longest name of a file fits in.
_MOST_OF_CONTENT: Final = 5_000
# Characters up to which another header is parsed by its structure, and those that are read at all.
_MOST_OF_STRUCTURE: Final = 10_000
_MOST_OF_HEADER: Final = 100_000
# The endings of attachments' names, by what the attachments say they are.
_ENDINGS: Final = {
    "application/epub+zip": ".epub",
    "application/json": ".json",
    "application/msword": ".doc",
    "application/pdf": ".pdf",
    "application/rtf": ".rtf",
    "application/vnd.ms-excel": ".xls",
    "application/vnd.ms-outlook": ".msg",
    "application/vnd.ms-powerpoint": ".ppt",
    "application/zip": ".zip",
    f"{_OFFICE}presentationml.presentation": ".pptx",
    f"{_OFFICE}spreadsheetml.sheet": ".xlsx",
    f"{_OFFICE}wordprocessingml.document": ".docx",
    f"{_OPEN}presentation": ".odp",
    f"{_OPEN}spreadsheet": ".ods",
    f"{_OPEN}text": ".odt",
    "text/calendar": ".ics",
    "text/csv": ".csv",
    "text/html": ".html",
    "text/markdown": ".md",
    "text/rtf": ".rtf",
    "text/tab-separated-values": ".tsv",
    "text/vcard": ".vcf",
    "text/vtt": ".vtt",
}


def message_document(reading: Reading) -> Document:
    """A message is one document: a part a paragraph, ``quoted`` where it is, and parts of its attachments.

    Its metadata are ``subject``, ``from``, ``to``, ``cc``, ``date`` and ``message_id``. Raises ``InvalidDocument`` for
    what is no message.
    """
    message = _parsed(reading.whole())
    if not message.keys():
        raise InvalidDocument("not a message: it has no headers")
    return composed(reading, [*_parts(reading, message)], headers(message))


@isolated("a message")
def read_message(reading: Reading) -> Iterator[Found]:
    """A file is one message."""
    yield 1, partial(message_document, reading)


def headers(message: EmailMessage) -> dict[str, JsonValue]:
    """The headers of a message that are metadata."""
    found: dict[str, JsonValue] = {"subject": _header(message, "subject"), "message_id": _header(message, "message-id")}
    for name in _ADDRESSES:
        pairs = _addresses(message, name)
        people = [f"{person} <{address}>" if person else address for person, address in pairs if address]
        found[name] = people[0] if name == "from" and people else people
    with suppress(ValueError, TypeError):
        found["date"] = email.utils.parsedate_to_datetime(_header(message, "date")).isoformat()
    return found


def _addresses(message: EmailMessage, name: str) -> list[tuple[str, str]]:
    """The people of a header, with their addresses. Of a long one the raw form, whose names are decoded one by one."""
    raw = next((value for key, value in message.raw_items() if key.lower() == name), "")
    if len(raw) <= _MOST_OF_STRUCTURE:
        return email.utils.getaddresses([_header(message, name)])
    whole = raw if len(raw) <= _MOST_OF_HEADER else raw[:_MOST_OF_HEADER].rpartition(",")[0]
    return [(_decoded(person), address) for person, address in email.utils.getaddresses([whole])]


def _decoded(raw: str) -> str:
    try:
        return str(make_header(decode_header(raw)))
    except (HeaderParseError, LookupError, UnicodeError, ValueError):
        return raw


def _header(message: EmailMessage, name: str) -> str:
    try:
        return " ".join(str(message.get(name, "")).split())
    except Exception as error:
        if shortage(error):
            raise
        return ""


class _BoundedPolicy(email.policy.EmailPolicy):
    """The standard library's policy, whose time grows with the square of a header's length, made safe for any length.

    Only the beginning of a long header is read. A fairly long one is read as unstructured text, such as a subject.
    """

    def header_fetch_parse(self, name: str, value: str) -> str:
        if name.lower().startswith("content-"):
            value = value[:_MOST_OF_CONTENT]
        elif len(value) > _MOST_OF_STRUCTURE:
            name = "subject"
        return super().header_fetch_parse(name, value[:_MOST_OF_HEADER])


_POLICY: Final = cast("email.policy.Policy[EmailMessage]", _BoundedPolicy())


def _parsed(data: bytes) -> EmailMessage:
    return email.message_from_bytes(data.removeprefix(codecs.BOM_UTF8), policy=_POLICY)


def _parts(reading: Reading, message: EmailMessage, level: int = 0) -> Iterator[Part]:
    for name, value in message.raw_items():
        if name.lower() in ("subject", *_ADDRESSES) and len(value) > _MOST_OF_HEADER:
            reading.lost.append(f"{name}: all but its first {_MOST_OF_HEADER:,} characters")
    body, text = _body(message)
    yield from body_parts(text)
    for attached in _attached(message, body):
        if attached.get_content_type() == "message/rfc822":
            yield from _forwarded(reading, attached, level)
        elif attached.get_content_maintype() not in _NO_TEXT:
            data = _bytes(attached)
            yield from nested_parts(_in_charset(reading, attached, data), _name(attached), data)


def _body(message: EmailMessage) -> tuple[MIMEPart | None, str]:
    """The body and its text: the plain form, unless it lacks half of the words of the page."""
    plain, page = message.get_body(("plain",)), message.get_body(("html",))
    if message.get_content_maintype() == "multipart" and not message.is_multipart():
        plain = message  # programs show what has no boundaries as it is
    text = "" if plain is None else _plain(plain)
    if page is None:
        return plain, text
    try:
        of_page = _page(page)
    except InvalidDocument:
        if plain is None:
            raise
        return plain, text
    said = _words(of_page)
    return (plain, text) if 2 * (said & _words(text)).total() >= said.total() else (page, of_page)


def _words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.lower()))


def _attached(message: MIMEPart, body: MIMEPart | None) -> Iterator[MIMEPart]:
    """The leaves of a message that are neither its body nor another form of what is read."""
    waiting = [(message, False)]
    while waiting:
        part, is_form = waiting.pop()
        if part.is_multipart() and part.get_content_maintype() == "multipart":
            inner = [*part.iter_parts()]
            others = _other_forms(inner, body) if part.get_content_type() == "multipart/alternative" else []
            waiting += [(each, is_form or each in others) for each in reversed(inner)]
        elif part is not body and not (is_form and part.get_content_maintype() == "text" and not part.get_filename()):
            yield part


def _other_forms(forms: list[MIMEPart], body: MIMEPart | None) -> list[MIMEPart]:
    """All forms of a text except the one that is read: the form that has the body, or else the first."""
    read = next((form for form in forms if any(each is body for each in form.walk())), forms[0])
    return [form for form in forms if form is not read]


def _forwarded(reading: Reading, attached: MIMEPart, level: int) -> Iterator[Part]:
    inner = attached.get_payload(0)
    if level + reading.depth >= DEEPEST or not isinstance(inner, EmailMessage):
        reading.lost.append(f"a message that {TOO_DEEP}")
        return
    if not inner.keys() and attached.get("content-transfer-encoding", "").strip().lower() == "base64":
        inner = _parsed(binascii.a2b_base64(str(inner.get_payload()).encode("ascii", "ignore")))
    subject = _header(inner, "subject")
    yield from (
        Part(part.text, {**part.metadata, "attachment": subject or "message"})
        for part in _parts(reading, inner, level + 1)
    )


def _in_charset(reading: Reading, attached: MIMEPart, data: bytes) -> Reading:
    """The reading with the encoding that an attachment declares, if its bytes are of it; a given one stays."""
    codec = _declared(attached.get_content_charset())
    if codec is None or reading.options.encoding is not None:
        return reading
    try:
        data.decode(codec, errors_of(codec))
    except UnicodeDecodeError:
        return reading
    return replace(reading, options=replace(reading.options, encoding=codec))


def _bytes(part: MIMEPart) -> bytes:
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b"\n".join(bytes(each) for each in part.iter_parts())


def _page(body: MIMEPart) -> str:
    data, charset = _bytes(body), body.get_content_charset()
    codec = labelled_codec(charset) if charset else None
    return text_of_page(data.decode(codec, errors_of(codec, "replace")) if codec else data)


def _plain(body: MIMEPart) -> str:
    """The text of a body, whatever it says about its encoding."""
    data = _bytes(body)
    codec = _codec(data, body.get_content_charset())
    text = data.decode(codec, errors_of(codec, "replace"))
    return _flowed(text) if body.get_param("format") == "flowed" else text


def _declared(charset: str | None) -> str | None:
    """The encoding of a declared charset; None for ASCII, which programs write for any."""
    return labelled_codec(charset) if charset and charset not in _ASCII else None


def _codec(data: bytes, charset: str | None) -> str:
    """The declared encoding; for text without one, or declared as ASCII, UTF-8 if it is valid, else windows-1252."""
    codec = _declared(charset)
    if codec is not None:
        return codec
    try:
        data.decode()
    except UnicodeDecodeError:
        return WESTERN
    return "utf-8"


def _flowed(text: str) -> str:
    """Text of RFC 3676: a line that ends with a space goes on, and a first space is stuffing."""
    lines = (line[1:] if line.startswith(" ") else line for line in text.replace("\r\n", "\n").split("\n"))
    out = ""
    for line in lines:
        out += line if line.endswith(" ") and line != "-- " and not line.startswith(">") else f"{line}\n"
    return out


def _name(attached: MIMEPart) -> str:
    """The name of an attachment; where it does not say the kind, with an ending for what the attachment says it is."""
    name = attached.get_filename() or "unnamed"
    kind = attached.get_content_type()
    ending = _ENDINGS.get(kind) or (".txt" if attached.get_content_maintype() in _TEXT else "")
    if Path(name).suffix:
        return name
    return f"{name}{ending or f'.{attached.get_content_subtype()}'}"
