"""Batches for SLICE: texts, spans of them, and what each span stands for alone. Step ``n`` draws from seed and ``n``.

So a step's batch is the same in every run, and a run that was interrupted goes on with the batch that was due.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from string import punctuation

import numpy as np

from models.errors import InvalidInput
from models.text.tokens import UnitTokens
from models.types import CharSpan, SpanBounds, UnitSpan
from research.training.sources import sentences
from research.training.texts import Texts
from research.training.topical_pairs import TopicalPair

_WORD = re.compile(r"[a-z]{4,}")


_READABLE = re.compile(r"\w")


_RUNS = 24  # runs of words of one context: about a third are terms


_TRIES = 20  # contexts for every term that is wanted, where next to none have any


@dataclass(frozen=True, slots=True)
class Sample:
    """A text and, where one was set into it, the phrase."""

    text: str
    phrase: CharSpan


@dataclass(frozen=True, slots=True)
class Draw:
    """The texts of one step: the graded pairs' contexts and queries first, in step with ``scores``; then others.

    ``short`` texts, questions among them, are learnt as wholes.
    """

    queries: list[str]
    contexts: list[Sample]
    scores: list[float]
    others: list[Sample]
    short: list[str]


@dataclass(frozen=True, slots=True)
class Shape:
    """Numbers of texts of each kind in a batch.

    ``near`` of the pairs are set into contexts of their own topic. Beside each of the ``questions`` stands prose of its
    topic, of which a sentence is learnt as well: so that a question stays as near to what may answer it as it was.
    ``topical`` pairs of a query and a passage are ranked, ``hard`` of them beside one more passage near to the query.
    """

    pairs: int = 20
    near: int = 0
    set_in_context: int = 8
    plain: int = 4
    alone: int = 4
    short: int = 0
    questions: int = 0
    topical: int = 0
    hard: int = 0


def draw(texts: Texts, shape: Shape, seed: int, step: int) -> Draw:
    """The texts of one step."""
    rng = random.Random(f"{seed}/{step}")  # noqa: S311  sampling, not secrets
    pairs = [rng.choice(texts.pairs) for _ in range(shape.pairs if texts.pairs else 0)]
    swapped = [(pair.paraphrase, pair.query) if rng.random() < 0.5 else (pair.query, pair.paraphrase) for pair in pairs]
    others = [set_in_context(_phrase(texts, rng), _context(texts, rng), rng) for _ in range(shape.set_in_context)]
    others += [_whole(_context(texts, rng)) for _ in range(shape.plain)]
    others += [_whole(_phrase(texts, rng)) for _ in range(shape.alone)]
    contexts = [
        near_context(phrase, texts, rng) if number < shape.near else in_context(phrase, texts, rng)
        for number, (_, phrase) in enumerate(swapped)
    ]
    short = _terms(texts, shape.short, rng)
    # Questions are drawn last: steps without them stay what they were, and so do the weights of earlier commands.
    questions = [rng.choice(texts.questions) for _ in range(shape.questions if texts.questions else 0)]
    return Draw(
        queries=[query for query, _ in swapped],
        contexts=contexts,
        scores=[pair.score for pair in pairs],
        others=others + [_sentence_of(_about(question, texts, rng), rng) for question in questions],
        short=short + questions,
    )


def in_context(phrase: str, texts: Texts, rng: random.Random) -> Sample:
    """A phrase set into some of the prose; half of the time both have a word in common."""
    return set_in_context(phrase, _context_for(phrase, texts, rng), rng)


def near_context(phrase: str, texts: Texts, rng: random.Random) -> Sample:
    """A phrase set into a context that speaks of the same, if such are known."""
    return set_in_context(phrase, _about(phrase, texts, rng), rng)


def some_contexts(texts: Texts, count: int, seed: int) -> list[str]:
    """So many contexts of all kinds of prose."""
    rng = random.Random(f"contexts/{seed}")  # noqa: S311  sampling, not secrets
    return [_context(texts, rng) for _ in range(count)]


def further_passages(texts: Texts, pairs: Sequence[TopicalPair], seed: int, step: int) -> list[str]:
    """For every pair a passage that speaks of what its query does, and may or may not be relevant."""
    rng = random.Random(f"further/{seed}/{step}")  # noqa: S311  sampling, not secrets
    return [_about(pair.query, texts, rng) for pair in pairs]


def _whole(text: str) -> Sample:
    return Sample(text, CharSpan(0, len(text)))


def _sentence_of(text: str, rng: random.Random) -> Sample:
    """One of the sentences of a text."""
    parts = sentences(text)
    number = rng.randrange(len(parts))
    begin = len(" ".join([*parts[:number], ""]))
    return Sample(text, CharSpan(begin, begin + len(parts[number])))


def _phrase(texts: Texts, rng: random.Random) -> str:
    """A short text: mostly from the sets of short texts, if there are any, else a run of words of some prose."""
    if rng.random() < 0.6 and texts.phrases:
        return rng.choice(texts.phrases[rng.choice(sorted(texts.phrases))])
    return _run_of(_context(texts, rng).split(), rng.randint(2, 14), rng)


def _terms(texts: Texts, count: int, rng: random.Random) -> list[str]:
    """Terms and names of prose, as people look them up; several of a context, so that some have to do with others."""
    terms: list[str] = []
    for _ in range(_TRIES * count):
        if len(terms) >= count:
            break
        words = _context(texts, rng).split()
        runs = [_run_of(words, rng.randint(1, 4), rng).strip(punctuation) for _ in range(_RUNS)]
        terms += dict.fromkeys(run for run in runs if is_term(run))
    if len(terms) < count:
        raise InvalidInput(
            "There are hardly any terms in the texts to be trained on, only words such as 'and' and 'of'.",
            hint="Bring other texts, or ask for no short ones (--draw short=0).",
            field="draw",
        )
    return terms[:count]


def is_term(text: str) -> bool:
    """True if a run of words may be a term: no part of it ends, and it begins and ends with a word that says something.

    >>> [text for text in ("steam engine", "the engine", "coal, steam", "Bank of England") if is_term(text)]
    ['steam engine', 'Bank of England']
    """
    # Imported here, because scikit-learn takes long and commands that only list what there is must not wait for it.
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    words = text.lower().split()
    saying = [bool(_READABLE.search(word)) and word not in ENGLISH_STOP_WORDS for word in words]
    return bool(words) and saying[0] and saying[-1] and all(word[-1] not in punctuation for word in words[:-1])


def _run_of(words: Sequence[str], length: int, rng: random.Random) -> str:
    begin = rng.randint(0, max(0, len(words) - length))
    return " ".join(words[begin : begin + length])


def _context(texts: Texts, rng: random.Random) -> str:
    """Some sentences of any kind of prose, the larger kinds more often; rules and the like, without a word, are not."""
    kinds = sorted(texts.prose)
    while True:
        kind = rng.choices(kinds, [len(texts.prose[name]) ** 0.5 for name in kinds])[0]
        parts = sentences(rng.choice(texts.prose[kind]))
        if _READABLE.search(context := _some_of(parts, rng.randrange(len(parts)), rng)):
            return context


def _about(phrase: str, texts: Texts, rng: random.Random) -> str:
    """A context that speaks of the same as a phrase, if such are known."""
    return texts.near(phrase, rng) if texts.near else _context_for(phrase, texts, rng)


def _context_for(phrase: str, texts: Texts, rng: random.Random) -> str:
    """A context that, half of the time, has a word in common with the phrase."""
    return _sharing_a_word(phrase, texts, rng) if rng.random() < 0.5 else _context(texts, rng)


def _sharing_a_word(phrase: str, texts: Texts, rng: random.Random) -> str:
    """Sentences that have a word in common with the phrase, if any do."""
    words = [word for word in _WORD.findall(phrase.lower()) if word in texts.by_word]
    if not words:
        return _context(texts, rng)
    word = rng.choice(words)
    parts = sentences(rng.choice(texts.by_word[word]))
    having = [number for number, sentence in enumerate(parts) if word in sentence.lower()]
    return _some_of(parts, max(0, rng.choice(having or [0]) - rng.randint(0, 1)), rng)


def _some_of(parts: Sequence[str], begin: int, rng: random.Random) -> str:
    """Sentences from one on, until there are enough words, but never more than 45 of them."""
    words, enough = parts[begin].split(), rng.randint(8, 30)
    for sentence in parts[begin + 1 :]:
        if len(words) >= enough:
            break
        words += sentence.split()
    return " ".join(words[:45])


def set_in_context(phrase: str, context: str, rng: random.Random) -> Sample:
    """A phrase set into a context as a clause, a quotation, a sentence of its own, or bare.

    >>> sample = set_in_context("A cat sat.", "It was late, and nobody saw it.", random.Random(3))
    >>> sample.phrase.of(sample.text).lower().rstrip(".")
    'a cat sat'
    """
    words = context.split()
    at = _joint(words, rng)
    left, right = " ".join(words[:at]), " ".join(words[at:])
    before, after, bare, lower = rng.choice(_STYLES)
    if bare:
        phrase = phrase.rstrip(" .!?") or phrase
    if lower and phrase[1:2].islower():
        phrase = phrase[0].lower() + phrase[1:]
    if left and before.startswith((",", ".", ":")):
        left = left.rstrip(",.;:")
    head = left + (before if left else "")
    tail = after + right if right else "."
    return Sample(head + phrase + tail, CharSpan(len(head), len(head) + len(phrase)))


# What stands before and after a phrase; whether its final stop goes; whether its first letter becomes small.
_STYLES = (
    (", ", ", ", True, True),
    (", ", ", ", True, True),
    (", and ", ", ", True, True),
    (" that ", ", ", True, True),
    (" where ", " ", True, True),
    (" as ", ", ", True, True),
    (" ", " ", True, True),
    (" ", " ", True, False),
    (". ", " ", False, False),
    (". ", ". ", True, False),
    (', "', '" ', False, False),
    (": ", "; ", True, False),
)


def _joint(words: Sequence[str], rng: random.Random) -> int:
    """Choose where to set a phrase in: after a comma or a stop if there is one (two times of three), or anywhere."""
    joints = [number + 1 for number, word in enumerate(words) if word[-1] in ",.;:"]
    if joints and rng.random() < 0.67:
        return rng.choice(joints)
    return rng.randint(0, len(words))


def draw_spans(
    units: UnitTokens, phrase: CharSpan, count: int, bounds: SpanBounds, rng: random.Random
) -> list[UnitSpan]:
    """Spans to learn of one text: the phrase itself, its borders moved by a few units, and spans anywhere."""
    start = int(np.searchsorted(units.spans[:, 1], phrase.start, side="right"))
    end = int(np.searchsorted(units.spans[:, 0], phrase.end, side="left"))
    spans = [UnitSpan(start, end)] if start < end else []
    while len(spans) < count:
        if rng.random() < 0.4 and end - start < len(units):
            begin, stop = start + rng.randint(-3, 3), end + rng.randint(-3, 3)
        else:
            length = min(rng.randint(bounds.shortest, bounds.longest), rng.randint(bounds.shortest, bounds.longest))
            begin = rng.randint(-1, len(units) - 1)
            stop = begin + length
        begin, stop = max(0, begin), min(len(units), stop)
        if begin < stop:
            spans.append(UnitSpan(begin, stop))
    return spans
