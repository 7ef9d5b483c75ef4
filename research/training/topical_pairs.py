"""Pairs of a query and a passage of its topic, without anyone's grades: what ranking is learnt from.

Titles and headings stand beside passages of their section, first sentences of leads beside later sections, a sentence
beside its neighbours (the inverse cloze task of Lee et al., 2019, "Latent Retrieval for Weakly Supervised Open Domain
Question Answering"), and queries and topics of meetings beside turns that people found relevant to them.
"""

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from research.evaluation.wikipedia import Article, is_held_out, read_articles
from research.training.sources import members, sentences, turn_text

_LONGEST_QUERY = 30  # words
_PASSAGE = 45  # words
_FEWEST = 8  # words of a sentence or a turn that has a topic
_EVERY = 4  # of so many articles one is read


@dataclass(frozen=True, slots=True)
class TopicalPair:
    """A query and a passage of the same topic."""

    query: str
    passage: str


@dataclass(frozen=True, slots=True)
class TopicalSource:
    """Pairs of one kind, the licence of their texts, and how to read them from a data folder."""

    licence: str
    read: Callable[[Path], Iterator[TopicalPair]]


def read_topical_pairs(folder: Path) -> dict[str, list[TopicalPair]]:
    """All pairs of a data folder, by kind."""
    return {name: list(source.read(folder)) for name, source in TOPICAL.items()}


def draw_topical(pairs: Mapping[str, Sequence[TopicalPair]], count: int, seed: int, step: int) -> list[TopicalPair]:
    """So many pairs for one step, of every kind as often; no passage twice.

    >>> pairs = {"a": [TopicalPair("tea", "a hot drink")], "b": [TopicalPair("rain", "water")]}
    >>> sorted(pair.query for pair in draw_topical(pairs, 5, seed=1, step=0))
    ['rain', 'tea']
    """
    rng = random.Random(f"topical/{seed}/{step}")  # noqa: S311  sampling, not secrets
    kinds = sorted(kind for kind, of_kind in pairs.items() if of_kind)
    drawn = (rng.choice(pairs[rng.choice(kinds)]) for _ in range(count if kinds else 0))
    return list({pair.passage: pair for pair in drawn}.values())


def headings(article: Article, rng: random.Random) -> Iterator[TopicalPair]:
    """A title, with the heading where there is one, and a passage of the section.

    >>> from research.evaluation.wikipedia import Section
    >>> tea = Article("Tea", (Section("History.", ["Tea was drunk in China two thousand years ago."]),))
    >>> list(headings(tea, random.Random(1)))
    [TopicalPair(query='Tea: History', passage='Tea was drunk in China two thousand years ago.')]
    """
    section = rng.choice(article.sections)
    heading = section.heading.rstrip(".")
    query = f"{article.title}: {heading}" if heading else article.title
    yield from _pairs(query, _passage(rng.choice(section.paragraphs), rng))


def leads(article: Article, rng: random.Random) -> Iterator[TopicalPair]:
    """The first sentence of an article, and a passage of one of its later sections."""
    if len(article.sections) > 1:
        section = rng.choice(article.sections[1:])
        yield from _pairs(
            sentences(article.sections[0].paragraphs[0])[0], _passage(rng.choice(section.paragraphs), rng)
        )


def cloze(article: Article, rng: random.Random) -> Iterator[TopicalPair]:
    """A sentence, and the sentences before and after it.

    >>> from research.evaluation.wikipedia import Section
    >>> text = "Tea is made of the leaves of a plant. It grows where rain is frequent. Many people drink it every day."
    >>> [pair.query in pair.passage for pair in cloze(Article("Tea", (Section("", [text]),)), random.Random(1))]
    [False]
    """
    parts = sentences(rng.choice(rng.choice(article.sections).paragraphs))
    if len(parts) > 2:
        number = rng.randrange(len(parts))
        around = parts[max(0, number - 1) : number] + parts[number + 1 : number + 2]
        yield from _pairs(parts[number], " ".join(" ".join(around).split()[:_PASSAGE]))


def _pairs(query: str, passage: str) -> Iterator[TopicalPair]:
    """The pair, unless its query is too long or its passage too short to have a topic."""
    words = len(query.split())
    if 0 < words <= _LONGEST_QUERY and len(passage.split()) >= _FEWEST:
        yield TopicalPair(query, passage)


def _passage(paragraph: str, rng: random.Random) -> str:
    """Some words of a paragraph, from the beginning of a sentence on."""
    parts = sentences(paragraph)
    return " ".join(" ".join(parts[rng.randrange(len(parts)) :]).split()[:_PASSAGE])


def _of_articles(
    cut: Callable[[Article, random.Random], Iterator[TopicalPair]],
) -> Callable[[Path], Iterator[TopicalPair]]:
    """Pairs that are cut from every fourth article that is not held out."""

    def read(folder: Path) -> Iterator[TopicalPair]:
        for article in islice(read_articles(folder / "enwiki-extract"), 0, None, _EVERY):
            if not is_held_out(article):
                yield from cut(article, _random(article.title))

    return read


def _meetings(folder: Path) -> Iterator[TopicalPair]:
    """A query or the name of a topic, and every second turn that is relevant to it."""
    for text in members(folder / "qmsum/train.tar.gz", ".json"):
        meeting = json.loads(text)
        turns = [turn_text(turn["content"]) for turn in meeting["meeting_transcripts"]]
        for row in (*meeting["specific_query_list"], *meeting["topic_list"]):
            for turn in _relevant(turns, row)[::2]:
                yield from _pairs(row.get("query") or row["topic"], turn)


def _relevant(turns: Sequence[str], row: Mapping[str, Any]) -> list[str]:
    spans = ((int(first), int(last)) for first, last in row["relevant_text_span"])
    return [" ".join(turn.split()[:_PASSAGE]) for first, last in spans for turn in turns[first : last + 1]]


def _turns(folder: Path) -> Iterator[TopicalPair]:
    """A turn of a meeting, and the one after it."""
    for text in members(folder / "qmsum/train.tar.gz", ".json"):
        turns = [turn_text(turn["content"]) for turn in json.loads(text)["meeting_transcripts"]]
        for turn, following in pairwise(turns):
            if len(turn.split()) >= _FEWEST:
                yield from _pairs(turn, " ".join(following.split()[:_PASSAGE]))


def _random(name: str) -> random.Random:
    return random.Random(f"topical/{name}")  # noqa: S311  sampling, not secrets


TOPICAL: Mapping[str, TopicalSource] = {
    "headings": TopicalSource("CC BY-SA 3.0", _of_articles(headings)),
    "leads": TopicalSource("CC BY-SA 3.0", _of_articles(leads)),
    "cloze": TopicalSource("CC BY-SA 3.0", _of_articles(cloze)),
    "meetings": TopicalSource("MIT", _meetings),
    "turns": TopicalSource("MIT", _turns),
}
