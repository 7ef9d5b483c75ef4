"""Messages of Outlook (``.msg``), through python-oxmsg."""

import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from indexer.sources.encodings import errors_of
from indexer.sources.records import Reading, one_document
from models.types import Document, JsonValue, Part
from spanseek_files.compose import composed
from spanseek_files.isolated import isolated
from spanseek_files.mail.bodies import body_parts, text_of_page
from spanseek_files.nested import DEEPEST, TOO_DEEP, nested_parts
from spanseek_files.rich_text.reader import rich_text

# Properties by their numbers in the protocol of Exchange (MS-OXPROPS).
_HTML: Final = 0x1013
_RICH_TEXT: Final = 0x1009
_RECIPIENT_TYPE: Final = 0x0C15
_NAMES: Final = (0x3707, 0x3704, 0x3001)
_TO, _COPY = 1, 2
# The bits of a recipient's kind; others are flags of programs.
_KINDS: Final = 0xF
# The storage of a message within another, and the bytes before its list of properties: eight fewer than of a file.
_EMBEDDED: Final = "__substg1.0_3701000D"
_LIST: Final = "__properties_version1.0"
_HEAD: Final = 24


@isolated("a message of Outlook", "oxmsg")
@one_document
def read_outlook(reading: Reading) -> Document:
    """A message of Outlook is one document, as others are."""
    from oxmsg import Message

    message = Message.load(io.BytesIO(reading.whole()))
    return composed(reading, [*_parts(reading, message)], _headers(message))


def _headers(message: Any) -> dict[str, JsonValue]:  # noqa: ANN401 - oxmsg has no types
    named = {name.lower(): value for name, value in message.message_headers.items()}
    return {
        "subject": message.subject or "",
        "message_id": named.get("message-id", ""),
        "from": message.sender or "",
        "to": _people(message, _TO),
        "cc": _people(message, _COPY),
        "date": message.sent_date.isoformat() if message.sent_date else "",
    }


def _people(message: Any, kind: int) -> list[JsonValue]:  # noqa: ANN401
    """The recipients of a kind; those without one are addressed."""
    return [
        f"{each.name} <{each.email_address}>" if each.email_address else each.name
        for each in message.recipients
        if (each.properties.int_prop_value(_RECIPIENT_TYPE) or _TO) & _KINDS == kind
    ]


def _parts(reading: Reading, message: Any, level: int = 0) -> Iterator[Part]:  # noqa: ANN401
    yield from body_parts(_body(reading, message))
    for attached in message.attachments:
        names = (attached.properties.str_prop_value(each) for each in _NAMES)
        name = next(filter(None, names), "unnamed")
        embedded = [each for each in attached._storage.storages if each.name == _EMBEDDED]
        if embedded:
            yield from _forwarded(reading, embedded[0], level)
        else:
            yield from nested_parts(reading, name, attached.file_bytes or b"")


def _body(reading: Reading, message: Any) -> str:  # noqa: ANN401
    """The text of a message: its plain form, its page, or else its rich text."""
    if message.body and message.body.strip():
        return str(message.body)
    page = message.properties.binary_prop_value(_HTML)
    if page:
        codec = message.properties.body_encoding
        return text_of_page(page.decode(codec, errors_of(codec, "replace")))
    if message.html_body:
        return text_of_page(message.html_body)
    packed = message.properties.binary_prop_value(_RICH_TEXT)
    if not packed:
        return ""
    from compressed_rtf import decompress

    return "\n\n".join(part.text for part in rich_text(reading, decompress(packed)).parts)


def _forwarded(reading: Reading, storage: Any, level: int) -> Iterator[Part]:  # noqa: ANN401
    """The parts of a message within another, which has the form of a file but for the head of its properties."""
    from oxmsg import Message

    if level + reading.depth >= DEEPEST:
        reading.lost.append(f"a message that {TOO_DEEP}")
        return
    streams = tuple(
        replace(each, bytes_=each.bytes_[:_HEAD] + bytes(8) + each.bytes_[_HEAD:]) if each.name == _LIST else each
        for each in storage.streams
    )
    message = Message(replace(storage, streams=streams))
    for part in _parts(reading, message, level + 1):
        yield Part(part.text, {**part.metadata, "attachment": message.subject or "message"})
