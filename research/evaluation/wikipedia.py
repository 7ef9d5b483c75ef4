"""Articles of a Wikipedia extract (WikiExtractor's form) by sections.

The extract marks headings by nothing but their form: a line of few words that ends with a full stop, between
paragraphs. A short sentence that stands alone looks the same and begins a section, too.
"""

import gzip
import html
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

from indexer.errors import SourceUnreadable
from research.training.sources import sentences

_BEGIN = re.compile(r'<doc id="[^"]*" url="[^"]*" title="(?P<title>.*)">$')
_END = "</doc>"
_HEADING = re.compile(r"(?=.{2,80}$)[^.!?]+(?:\.[^\s.!?]+)*\.")
_MOST_WORDS = 10


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, empty for the lead, and the paragraphs under it."""

    heading: str
    paragraphs: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Article:
    """A title, and sections that have text; the first one is the lead."""

    title: str
    sections: tuple[Section, ...]


def read_articles(folder: Path) -> Iterator[Article]:
    """The articles of all gzipped files of a folder, in the order of their names.

    Raises ``SourceUnreadable`` for a folder that holds none.
    """
    files = sorted(folder.glob("*.gz"))
    if not files:
        raise SourceUnreadable(f"There are no *.gz files in {folder}.", hint="Give the folder of a Wikipedia extract.")
    return articles(chain.from_iterable(map(_lines, files)))


def articles(lines: Iterable[str]) -> Iterator[Article]:
    """Articles with a lead, from the lines of an extract.

    >>> text = ["Tea", "", "A drink.", "History.", "It is old. Very.", "Old?"]
    >>> lines = ['<doc id="7" url="u" title="Tea">', *text, "</doc>"]
    >>> [(section.heading, section.paragraphs) for article in articles(lines) for section in article.sections]
    [('', ['A drink.']), ('History', ['It is old. Very.', 'Old?'])]
    """
    title = ""
    body: list[str] = []
    for line in map(str.strip, lines):
        if begin := _BEGIN.match(line):
            title, body = html.unescape(begin["title"]), []
        elif line == _END:
            if sections := tuple(_sections(title, body)):
                yield Article(title, sections)
        elif line:
            body.append(html.unescape(line))


def is_held_out(article: Article) -> bool:
    """True if an article is one of the tenth from which nothing is learnt: its title alone decides.

    >>> is_held_out(Article("Rain", ())), is_held_out(Article("Tea", ()))
    (False, False)
    """
    return zlib.crc32(article.title.encode()) % 10 == 0


def single_sentences(articles_read: Iterable[Article], fewest: int = 10, most: int = 40) -> Iterator[str]:
    """The sentences of so many words, article by article.

    >>> list(single_sentences([Article("Tea", (Section("", ["It is hot. It is cold by now, sadly."]),))], fewest=5))
    ['It is cold by now, sadly.']
    """
    for article in articles_read:
        for paragraph in (text for section in article.sections for text in section.paragraphs):
            yield from (text for text in sentences(paragraph) if fewest <= len(text.split()) <= most)


def held_out_sentences(folder: Path) -> Iterator[str]:
    """The first sentence of every article that is held out: one each, so that what they speak of differs."""
    for article in filter(is_held_out, read_articles(folder)):
        yield from islice(single_sentences([article]), 1)


def long_texts(articles_read: Iterable[Article], words: int = 600) -> Iterator[str]:
    """The whole texts, title and headings too, of articles with at least so many words.

    >>> articles = [Article("Tea", (Section("", ["A drink."]), Section("Age", ["Old."]))), Article("Rain", ())]
    >>> list(long_texts(articles, words=4))
    ['Tea\\nA drink.\\nAge\\nOld.']
    """
    for article in articles_read:
        lines = [line for section in article.sections for line in (section.heading, *section.paragraphs) if line]
        text = "\n".join([article.title, *lines])
        if len(text.split()) >= words:
            yield text


def _sections(title: str, lines: list[str]) -> Iterator[Section]:
    """Sections that have text, the lead first; none where the article begins with a heading."""
    texts = [line for line in lines if line != title]
    sections = [Section("")]
    for number, line in enumerate(texts):
        # The first line is the lead's, however short, and no heading is the last one.
        if 0 < number < len(texts) - 1 and is_heading(line):
            sections.append(Section(line.removesuffix(".")))
        else:
            sections[-1].paragraphs.append(line)
    return (section for section in sections if section.paragraphs)


def is_heading(line: str) -> bool:
    """True if a line has the form of a heading.

    >>> is_heading("Early career."), is_heading("He was born in 1942. He died in 1999."), is_heading("Why?")
    (True, False, False)
    """
    return len(line.split()) <= _MOST_WORDS and _HEADING.fullmatch(line) is not None


def _lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from file
