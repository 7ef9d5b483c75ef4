"""Files of JSON that nest too deeply are refused where a reader sign by sign refuses them, however they are read."""

from io import BytesIO

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from indexer.errors import SourceUnreadable
from indexer.sources import json_files
from indexer.sources.json_files import Bounded
from tests.examples import examples

LEVELS = 3


def deepest(data: bytes) -> int:
    """The most levels that are open at once; brackets within strings are text."""
    level = most = 0
    in_string = escaped = False
    for sign in data:
        if in_string:
            in_string = escaped or sign != ord('"')
            escaped = not escaped and sign == ord("\\")
        elif sign == ord('"'):
            in_string = True
        elif sign in b"[{":
            level += 1
            most = max(most, level)
        elif sign in b"]}":
            level -= 1
    return most


@given(st.lists(st.sampled_from([*b'[]{}"\\x,'])).map(bytes), st.lists(st.integers(1, 5), min_size=1))
@example(b'["' + b"\\" * 9 + b'"[[["]', [1])
@settings(max_examples=examples(400))
def test_levels_are_counted_outside_of_strings(data: bytes, sizes: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_files, "MAX_LEVELS", LEVELS)
        file, read = Bounded(BytesIO(data)), b""
        try:
            for number in range(len(data) + 1):
                read += file.read(sizes[number % len(sizes)])
        except SourceUnreadable:
            assert deepest(data) > LEVELS
        else:
            assert read == data
            assert deepest(data) <= LEVELS


def test_a_byte_order_mark_is_left_out() -> None:
    file = Bounded(BytesIO(b"\xef\xbb\xbf[1]"))
    assert file.read(100) + file.read(100) == b"[1]"
