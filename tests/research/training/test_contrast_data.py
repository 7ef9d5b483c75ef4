"""The written contrast lines: of the right form, and without shortcuts."""

from collections import Counter
from pathlib import Path

import pytest

from research.training.contrast_data import lengths, overlaps, read_contrast

LINES = list(read_contrast())


def test_every_line_is_its_own() -> None:
    assert len(LINES) >= 2_000
    assert len({line.id for line in LINES}) == len({line.phrase.lower() for line in LINES}) == len(LINES)
    assert all(len({text for text, _ in line.pairs}) == 4 for line in LINES)


def test_kinds_are_even_and_domains_are_there() -> None:
    kinds = Counter(line.kind for line in LINES)
    assert len(kinds) == 10
    assert max(kinds.values()) < 1.2 * min(kinds.values())
    assert {line.domain for line in LINES} == {"contact", "legal", "issues", "general"}


def test_shared_words_and_length_tell_nothing() -> None:
    shared, words = overlaps(LINES), lengths(LINES)
    assert abs(shared["same_close"] - shared["differs"]) < 0.03
    assert abs(shared["same"] - shared["differs_far"]) < 0.02
    assert max(words.values()) < 1.06 * min(words.values())


def test_a_line_of_another_form_is_named(tmp_path: Path) -> None:
    path = tmp_path / "lines.ndjson"
    path.write_text('{"id": "a", "phrase": "x"}\n')
    with pytest.raises(ValueError, match=r"lines.ndjson, line 1"):
        list(read_contrast([path]))
