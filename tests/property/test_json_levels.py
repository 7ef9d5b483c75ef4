"""The outline of a JSON text is that of a reader sign by sign, however the file is read."""

from collections.abc import Iterator
from io import BytesIO

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from indexer.errors import SourceUnreadable
from indexer.sources import json_outline
from indexer.sources.json_outline import Piece, outline
from tests.examples import examples

LEVELS = 3


def signs(data: bytes) -> Iterator[tuple[int, int, int]]:
    """The brackets, commas and colons outside of strings, with the numbers of open brackets before and after."""
    level = 0
    in_string = escaped = False
    for at, sign in enumerate(data):
        if sign == ord('"') and not escaped:
            in_string = not in_string
        elif sign in b"[]{},:" and not in_string:
            before, level = level, level + (sign in b"[{") - (sign in b"]}")
            yield at, before, level
        escaped = not escaped and sign == ord("\\")


def pieces(data: bytes, depth: int) -> list[Piece]:
    """What stands between the signs of the outer levels."""
    found: list[Piece] = []
    begin = after = 0
    for at, before, after in signs(data):
        if max(before, after) <= depth:
            found.append(Piece(before, data[begin:at], data[at : at + 1]))
            begin = at + 1
    return [*found, Piece(after, data[begin:], b"")]


def is_one_value(found: list[Piece]) -> bool:
    """True for an array or an object that ends where the file ends."""
    return [piece for piece in found[1:] if piece.level <= 0] == [Piece(0, b"", b"")]


TEXTS = st.lists(st.sampled_from([*b'[]{}"\\x,:'])).map(bytes)


@given(TEXTS, st.integers(1, 5), st.integers(1, 3))
@example(b'"' + b"\\" * 9 + b'"[[["]', 1, 1)
@example(b"[[[]]]]", 2, 1)
@settings(max_examples=examples(400))
def test_signs_are_found_outside_of_strings(inner: bytes, size: int, depth: int) -> None:
    data = b"[" + inner
    expected = pieces(data, depth)
    found: list[Piece] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_outline, "MAX_LEVELS", LEVELS)
        patch.setattr(json_outline, "_CHUNK", size)
        try:
            found.extend(outline(BytesIO(data), depth))
        except SourceUnreadable:
            assert not is_one_value(expected) or max(after for *_, after in signs(data)) > LEVELS
        else:
            assert is_one_value(found)
            assert found == expected
    assert found == expected[: len(found)]


def test_a_byte_order_mark_is_left_out() -> None:
    assert [*outline(BytesIO(b"\xef\xbb\xbf[1]"), 1)] == [
        Piece(0, b"", b"["),
        Piece(1, b"1", b"]"),
        Piece(0, b"", b""),
    ]
