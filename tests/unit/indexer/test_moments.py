"""Dates and times as the programs that people export from spell them."""

from datetime import datetime

import pytest

from indexer.segments.moments import moment_of


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-02T03:04:05.123456Z",
        "2026-01-02T03:04:05.1234567Z",  # .NET
        "2026-01-02T03:04:05.123456789Z",  # Go, Java
        "2026-01-02 03:04:05.123456+00",  # PostgreSQL
        "2026-01-02T08:34:05,123456+0530",
        "2026-01-01t22:04:05.1234569-05",
        "2026-01-02t03:04:05.123456z",
    ],
)
def test_one_moment_in_many_spellings(text: str) -> None:
    assert moment_of(text) == datetime(2026, 1, 2, 3, 4, 5, 123456)


@pytest.mark.parametrize(
    "text",
    ["2026-01-02T03:04:05.", "2026-01-02T03:04:05.1234567890", "2026-01-02T03:04+0", "2026-01-02Z", "2026-01-02_03:04"],
)
def test_what_is_no_moment(text: str) -> None:
    assert moment_of(text) is None
