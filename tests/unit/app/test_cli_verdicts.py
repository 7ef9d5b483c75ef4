"""The command line shows likely hits first, under lines of their own those less likely, and those that nobody read."""

from collections.abc import Sequence
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from app.cli.search import show_judged
from app.search.answers import Hit
from models.verifier.types import Difference, Verdict

LESS, NONE, UNREAD = "Less likely:", "No likely match. Nearest:", "Not read by the second look:"


def hit(document_id: str, verdict: Verdict | None) -> Hit:
    probability = None if verdict is None else 0.9 if verdict == "match" else 0.3
    differs: tuple[Difference, ...] | None = ("number",) if verdict == "differs" else None
    plain = Hit(document_id, 0, 4, "text", 0.7, 0.8, "best_span", 1, {})
    return replace(plain, probability=probability, verdict=verdict, differs=differs)


def shown(verdicts: Sequence[Verdict | None], *, verified: bool = True) -> list[str]:
    """The headings, and the ids of the hits between."""
    console = Console(file=StringIO(), width=200, highlight=False)
    show_judged([hit(f"d{number}", verdict) for number, verdict in enumerate(verdicts)], verified, console)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    return [line if line.endswith(":") else line.split()[1] for line in lines if not line.startswith("  ")]


@pytest.mark.parametrize(
    ("verdicts", "lines"),
    [
        (["match", "match"], ["d0", "d1"]),
        (["match", "differs", None], ["d0", LESS, "d1", UNREAD, "d2"]),
        (["unrelated", "differs"], [NONE, "d0", "d1"]),
        (["differs", None, "match"], ["d2", LESS, "d0", UNREAD, "d1"]),
        ([], []),
    ],
)
def test_hits_stand_below_what_is_known_of_them(verdicts: list[Verdict | None], lines: list[str]) -> None:
    assert shown(verdicts) == lines


def test_without_a_second_look_there_are_no_headings() -> None:
    assert shown([None, None], verified=False) == ["d0", "d1"]


def test_a_verdict_says_in_what_a_text_differs() -> None:
    console = Console(file=StringIO(), width=200, highlight=False)
    show_judged([hit("d", "differs")], True, console)
    assert "differs in number (0.30)" in console.file.getvalue()  # type: ignore[attr-defined]
