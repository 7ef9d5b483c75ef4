"""Messages of Outlook (``.msg``), through python-oxmsg."""

import io
from collections.abc import Iterator
from typing import Any, Final

from indexer.sources.compose import composed, guarded_parser
from indexer.sources.mail.bodies import body_parts, text_of_page
from indexer.sources.nested import nested_parts
from indexer.sources.records import Found, Reading
from models.types import Document, JsonValue, Part

_RECIPIENT_TYPE: Final = 0x0C15
_COPY: Final = 2


def read_outlook(reading: Reading) -> Iterator[Found]:
    """A message of Outlook is one document, as others are."""
    yield 1, lambda: _document(reading)


@guarded_parser("a message of Outlook")
def _document(reading: Reading) -> Document:
    from oxmsg import Message

    message = Message.load(io.BytesIO(reading.whole()))
    return composed(reading, [*_parts(reading, message)], _headers(message))


def _headers(message: Any) -> dict[str, JsonValue]:  # noqa: ANN401 - oxmsg has no types
    named = {name.lower(): value for name, value in message.message_headers.items()}
    people = [f"{each.name} <{each.email_address}>" for each in message.recipients]
    return {
        "subject": message.subject or "",
        "message_id": named.get("message-id", ""),
        "from": message.sender or "",
        "to": people,
        "date": message.sent_date.isoformat() if message.sent_date else "",
    }


def _parts(reading: Reading, message: Any) -> Iterator[Part]:  # noqa: ANN401 - oxmsg has no types
    if message.body:
        yield from body_parts(message.body)
    elif message.html_body:
        yield from body_parts(text_of_page(message.html_body))
    for attached in message.attachments:
        yield from nested_parts(reading, attached.file_name or "unnamed", attached.file_bytes or b"")
