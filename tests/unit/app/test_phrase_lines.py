"""Phrases from JSON: what is wrong with one is said in a sentence, and names the field."""

from typing import Any

import pytest

from app.phrases.parsing import RefusedLine, line_from_json
from indexer.engine.query import Filter
from indexer.phrases import PhraseDraft


def test_a_text_is_enough_and_null_is_as_good_as_nothing() -> None:
    assert line_from_json({"text": "late fees"}) == PhraseDraft("late fees", "late fees")
    nothing = {"name": None, "threshold": None, "filter": None, "note": None}
    assert line_from_json({"text": "late fees", **nothing}) == PhraseDraft("late fees", "late fees")


def test_all_fields() -> None:
    filter = {"document": {"year": 2024, "open": True}, "part": {"speaker": None}}
    value = {"name": "fees", "text": "late fees", "threshold": 1, "threshold_on": "raw", "filter": filter, "note": "n"}
    assert line_from_json(value) == PhraseDraft("fees", "late fees", 1.0, "raw", Filter(**filter), "n")


@pytest.mark.parametrize(
    ("value", "field", "sentence"),
    [
        ("late fees", "phrase", "A phrase must be a JSON object."),
        ({}, "text", "text must be a string."),
        ({"text": 7}, "text", "text must be a string."),
        ({"text": " "}, "text", "A phrase cannot have the text ' '."),
        ({"text": "\ud800"}, "text", "A phrase cannot have the text '\\ud800'."),
        ({"text": "x", "name": 7}, "name", "name must be a string."),
        ({"text": "x", "note": 7}, "note", "note must be a string."),
        ({"text": "x", "color": 1}, "color", "A phrase has no field 'color'."),
        ({"text": "x", "threshold": True}, "threshold", "A threshold cannot be True."),
        ({"text": "x", "threshold": 2}, "threshold", "A threshold cannot be 2."),
        ({"text": "x", "threshold_on": "both"}, "threshold_on", "threshold_on must be score or raw."),
        ({"text": "x", "filter": []}, "filter", "filter must be an object with document, part, or both."),
        ({"text": "x", "filter": {"all": {}}}, "filter", "filter must be an object with document, part, or both."),
        ({"text": "x", "filter": {"part": 3}}, "filter.part", "filter.part must be an object."),
        (
            {"text": "x", "filter": {"part": {f"k{number}": 1 for number in range(1001)}}},
            "filter.part",
            "filter.part may have at most 1,000 keys.",
        ),
        (
            {"text": "x", "filter": {"document": {"tags": ["a"]}}},
            "filter.document",
            "filter.document: 'tags' must be a string, a number, true, false or null.",
        ),
    ],
)
def test_what_is_no_phrase_is_refused_by_name(value: Any, field: str, sentence: str) -> None:
    line = line_from_json(value)
    assert isinstance(line, RefusedLine)
    assert (line.error.field, str(line.error), line.error.code) == (field, sentence, "invalid_input")


def test_what_json_cannot_hold_is_refused() -> None:
    line = line_from_json({"name": "a", "text": "x", "filter": {"document": {"key": "\ud800"}}})
    assert isinstance(line, RefusedLine)
    assert (line.name, line.error.field) == ("a", "filter.document")
    assert "cannot be stored" in str(line.error)
