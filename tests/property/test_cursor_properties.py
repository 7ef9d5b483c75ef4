"""Cursors: whatever a caller sends is the position that was given out, or is refused."""

import base64
import json
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.cursors import cursor_at, position_of
from models.errors import InvalidInput

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0/"), min_size=1, max_size=200)
NUMBERS = st.integers(0, 2**63 - 1)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()), lambda inner: st.lists(inner)
)


def encoded(value: object) -> str:
    """A made-up cursor: any JSON, in the form of a cursor."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def is_storable(text: str) -> bool:
    with suppress(UnicodeEncodeError):
        return "\0" not in text and bool(text.encode())
    return False


def check(cursor: str) -> None:
    with suppress(InvalidInput):
        first, second = position_of(cursor, "events", "c1", (0, 0))
        assert type(first) is type(second) is int
        assert cursor == cursor_at("events", "c1", first, second)
    with suppress(InvalidInput):
        (name,) = position_of(cursor, "phrases", "c1", ("",))
        assert is_storable(name)
        assert cursor == cursor_at("phrases", "c1", name)


@given(NUMBERS, NUMBERS, NAMES.filter(lambda name: name not in (".", "..")))
def test_a_cursor_leads_back_to_its_position(first: int, second: int, name: str) -> None:
    assert position_of(cursor_at("events", "c1", first, second), "events", "c1", (0, 0)) == (first, second)
    assert position_of(cursor_at("phrases", "c1", name), "phrases", "c1", ("",)) == (name,)


@given(st.text(st.characters()) | st.text("ABCDabcd0129-_=+/"))
def test_arbitrary_text_is_a_cursor_or_refused(text: str) -> None:
    check(text)


@given(JSON | st.builds(lambda rest: ["phrases", "c1", *rest], st.lists(JSON)))
@example(["phrases", "c1", "\ud800"])
@example(["phrases", "c1", "a\0b"])
@example(["events", "c1", True, 0])
@example(["events", "c1", 2**63, 0])
def test_arbitrary_json_in_the_form_of_a_cursor_is_refused(value: object) -> None:
    check(encoded(value))


@pytest.mark.parametrize("change", ["padding", "sign", "space"])
def test_another_spelling_of_a_cursor_is_refused(change: str) -> None:
    cursor = cursor_at("events", "c1", 7, 20)
    spelt = {"padding": cursor + "=", "sign": cursor + "+", "space": encoded(["events", "c1", 7, 20])}[change]
    with pytest.raises(InvalidInput):
        position_of(spelt, "events", "c1", (0, 0))
