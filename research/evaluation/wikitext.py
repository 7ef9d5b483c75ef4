"""Articles of WikiText as language models read them, and texts that have nothing in common with them.

WikiText sets signs apart and writes ``<unk>`` for rare words; headings stand between equals signs, one for a title.
"""

import gzip
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from indexer.errors import SourceUnreadable

UNKNOWN = "<unk>"
_TITLE = re.compile(r"^ = [^=].* = $")
_JOINED = re.compile(r" @([-,.])@ ")
_WORDS = re.compile(r"\w+")
_RUN = 12


def read_wikitext(path: Path) -> list[str]:
    """The articles of one of WikiText's files, gzipped or not. Raises ``SourceUnreadable`` where it holds none."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8") as file:
            articles = wikitext_articles(file)
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path) from error
    if not articles:
        raise _unreadable(path)
    return articles


def wikitext_articles(lines: Iterable[str]) -> list[str]:
    """Articles from lines: joined signs joined again, headings without their equals signs.

    >>> lines = [" = Tea = \\n", " \\n", " Tea is a hot @-@ served drink . \\n", " = Rain = \\n", " It falls . \\n"]
    >>> wikitext_articles(lines)
    ['Tea\\nTea is a hot-served drink .', 'Rain\\nIt falls .']
    """
    articles: list[list[str]] = []
    for line in lines:
        text = _JOINED.sub(r"\1", line).strip().strip("= ")
        if _TITLE.match(line.rstrip("\n")):
            articles.append([])
        if text and articles:
            articles[-1].append(text)
    return ["\n".join(article) for article in articles]


def apart_from(texts: Iterable[str], tested: Iterable[str], run: int = _RUN) -> Iterator[str]:
    """The texts that share no run of so many words with what is tested.

    >>> list(apart_from(["It is late. Go home now", "Go on"], ["so go home, now!"], run=3))
    ['Go on']
    """
    tested_runs = {words for text in tested for words in _runs(text, run)}
    return (text for text in texts if tested_runs.isdisjoint(_runs(text, run)))


def _runs(text: str, run: int) -> Iterator[tuple[str, ...]]:
    words = _WORDS.findall(text.replace(UNKNOWN, " ").lower())
    return zip(*(words[begin:] for begin in range(run)), strict=False)


def _unreadable(path: Path) -> SourceUnreadable:
    return SourceUnreadable(
        f"{path} holds no articles of WikiText.", hint="Give one of its files, as test.txt or test.txt.gz."
    )
