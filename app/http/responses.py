"""Answers as HTTP responses.

Routes name the answer's dataclass as their ``response_model``, which documents it, and return a response, which
FastAPI does not validate: to check what was just computed would cost more than the rest of HTTP.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from starlette.responses import Response, StreamingResponse

from app.answers import to_json

# The header with the cursor of an export's beginning.
CURSOR_HEADER: Final = "Spanseek-Cursor"
# Every piece of a stream takes a turn in a thread: lines are sent together.
_PIECE_BYTES = 2**16


def cursor_header(how: str) -> dict[str, Any]:
    """The header of an export, for the OpenAPI document: how one goes on that was cut off."""
    description = f"The cursor of the beginning: to resume an export that was cut off, {how}."
    return {CURSOR_HEADER: {"description": description, "schema": {"type": "string"}}}


def answer_response(answer: object, status: int = 200) -> Response:
    """The response with an answer's dataclass."""
    return Response(to_json(answer), status, media_type="application/json")


def stream_response(
    parts: Iterable[bytes], media_type: str, headers: Mapping[str, str] | None = None
) -> StreamingResponse:
    """The response with a body that is made while it is sent."""
    return StreamingResponse(pieces(parts), media_type=media_type, headers=headers)


def pieces(lines: Iterable[bytes], size: int = _PIECE_BYTES) -> Iterator[bytes]:
    r"""Lines joined to pieces of at least ``size`` bytes.

    >>> [*pieces([b"one\n", b"two\n", b"three\n"], size=5)]
    [b'one\ntwo\n', b'three\n']
    """
    piece: list[bytes] = []
    held = 0
    for line in lines:
        piece.append(line)
        held += len(line)
        if held >= size:
            yield b"".join(piece)
            piece, held = [], 0
    if piece:
        yield b"".join(piece)
