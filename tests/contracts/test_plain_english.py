"""Documents are read in one go: short sentences, and a README of one page."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FRONT = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
PAGES = [*FRONT, *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("docs/api/*.md"))]


def sentences(text: str) -> list[list[str]]:
    """The sentences of the prose of a page, as words. Code, tables, headings and pictures are no prose.

    >>> sentences("# Title\\n\\nOne `a. b` here.\\nTwo [words and](more.md) more?\\n\\n- item\\n\\n| a. | b |")
    [['One', '`', 'here.'], ['Two', 'words', 'and', 'more?'], ['item']]
    """
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`]*`", "`", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    prose = re.sub(r"^(?: *[#|<!].*|(?=- |\d+\. ))", "\n", text, flags=re.MULTILINE)
    paragraphs = re.split(r"\n\s*\n", re.sub(r"^(?:- |\d+\. )", "", prose, flags=re.MULTILINE))
    return [words for each in paragraphs for part in re.split(r"(?<=[.!?])\s", each) if (words := part.split())]


def lengths(page: Path) -> list[int]:
    return [len(words) for words in sentences(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_sentences_have_at_most_20_words_on_average(page: Path) -> None:
    assert sum(lengths(page)) <= 20 * len(lengths(page))


@pytest.mark.parametrize("page", FRONT, ids=lambda path: path.name)
def test_no_sentence_of_a_first_page_is_long(page: Path) -> None:
    assert max(lengths(page)) <= 35


def test_the_readme_is_one_page() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").split()) <= 600
