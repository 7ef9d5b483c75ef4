"""Documents that are as varied as the texts allow: what a projection is fitted to, so that it fits more than one kind.

Every kind of text counts alike, however much there is of it. One document of two is a run of sentences of one kind; the
other is made of sentences that have nothing to do with each other, of any kind. Of either form one of two has white
space around its signs, as some corpora have it.
"""

import random
from collections.abc import Iterator, Sequence

from research.training.nugget_data import LONGEST, NuggetTexts
from research.training.rewrites import set_apart
from research.training.sources import sentences

_PAIRS = "pairs"  # the kind of what is there as pairs of sentences
_FEWEST, _MOST = 100, 300  # words of a document


def draw_varied(texts: NuggetTexts, documents: int, seed: int) -> list[str]:
    """So many documents of 100 to 300 words, the same for the same seed; none where there are no texts.

    >>> texts = NuggetTexts({"songs": ["La la la. Lo lo."]}, [("It rains.", "Rain falls.")], {})
    >>> [len(text.split()) >= 100 for text in draw_varied(texts, 3, seed=1)]
    [True, True, True]
    """
    kinds = _kinds(texts)
    return [_document(texts, kinds, number, seed) for number in range(documents)] if kinds else []


def _kinds(texts: NuggetTexts) -> list[str]:
    return sorted(name for name, found in {**texts.prose, _PAIRS: texts.pairs}.items() if found)


def _document(texts: NuggetTexts, kinds: Sequence[str], number: int, seed: int) -> str:
    rng = random.Random(f"varied/{seed}/{number}")  # noqa: S311  sampling, not secrets
    found = _run(texts, kinds[number // 4 % len(kinds)], rng) if number % 2 else _unrelated(texts, kinds, rng)
    words, held = rng.randint(_FEWEST, _MOST), list[str]()
    while len(held) < words:
        held += next(found).split()[:LONGEST]
    style = set_apart if number // 2 % 2 else str
    return style(" ".join(held))


def _run(texts: NuggetTexts, kind: str, rng: random.Random) -> Iterator[str]:
    """Sentences of one kind in their order, from some place on; pairs have no order."""
    while kind == _PAIRS:
        yield rng.choice(rng.choice(texts.pairs))
    at = rng.randrange(len(texts.prose[kind]))
    while True:
        yield from sentences(texts.prose[kind][at % len(texts.prose[kind])])
        at += 1


def _unrelated(texts: NuggetTexts, kinds: Sequence[str], rng: random.Random) -> Iterator[str]:
    while True:
        kind = rng.choice(kinds)
        yield rng.choice(rng.choice(texts.pairs) if kind == _PAIRS else sentences(rng.choice(texts.prose[kind])))
