"""Query phrases of the same kind of text as the corpus, of which none stands in it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int

from indexer.segments.merge import Source
from models.encoders.base import Encoder, encode_queries
from models.errors import InvalidInput
from models.types import UnitSpan
from research.benchmarks.case import Queries, unit_length

SHORTEST, LONGEST = 3, 12
# Units of a phrase that must be words: three signs in a row ask for nothing.
_WORDS = 3
# How many phrases are drawn for every one that is wanted: some stand in the corpus, some hold no words.
_SPARE = 8
_TOGETHER = 32


def sample_phrases(rest: Sequence[Source], indexed: Sequence[Source], count: int, seed: int) -> list[str]:
    """Phrases from documents of ``rest`` that stand nowhere in those of ``indexed``; the same ones for the same seed.

    Raises ``InvalidInput`` where there are too few.
    """
    drawn = list(dict.fromkeys(_draw(rest, count * _SPARE, np.random.default_rng(seed)))) if rest else []
    standing = _standing(drawn, indexed)
    phrases = [phrase for phrase in drawn if phrase not in standing][:count]
    if len(phrases) < count:
        raise InvalidInput(
            f"Only {len(phrases)} phrases were found that do not stand in the corpus; {count} are wanted.",
            hint="Leave more documents of the source out of the corpus: ask for fewer units.",
            field="units",
        )
    return phrases


def _draw(sources: Sequence[Source], count: int, rng: np.random.Generator) -> Iterator[str]:
    """Phrases from random places; every unit is as likely as every other to be the first of one."""
    ranges = [source.segment.document_units[source.runs] for source in sources]
    sizes = np.array([int(np.diff(each, axis=1).sum()) for each in ranges])
    for _ in range(count):
        chosen = int(rng.choice(len(sources), p=sizes / sizes.sum()))
        unit = _nth_unit(ranges[chosen], int(rng.integers(sizes[chosen])))
        phrase = _phrase(sources[chosen], unit, int(rng.integers(SHORTEST, LONGEST + 1)))
        if phrase:
            yield phrase


def _nth_unit(ranges: Int[np.ndarray, "runs 2"], number: int) -> int:
    """The unit of this number, counted in half-open ranges that lie one behind the other."""
    before = np.cumsum([0, *np.diff(ranges, axis=1)[:, 0]])
    run = int(np.searchsorted(before, number, side="right")) - 1
    return int(ranges[run, 0] + number - before[run])


def _phrase(source: Source, unit: int, length: int) -> str | None:
    """Text of so many units, on one line; None if they reach beyond the part or hold fewer than three words."""
    segment = source.segment
    part = segment.part_of(unit)
    if unit + length > segment.part_units[part + 1]:
        return None
    document = int(segment.part_document[part])
    span = segment.char_span(UnitSpan(unit, unit + length))
    text = segment.text(document, span)
    units = segment.unit_spans[unit : unit + length].astype(np.int64) - span.start
    words = sum(text[start].isalpha() for start, _ in units.tolist())
    return one_line(text) if words >= _WORDS else None


def _standing(phrases: Sequence[str], sources: Sequence[Source]) -> set[str]:
    """The phrases that stand in a document, whatever the case of their letters and wherever lines end."""
    folded = {phrase: phrase.casefold() for phrase in phrases}
    spans: set[str] = set()
    for text in _texts(sources):
        haystack = one_line(text).casefold()
        spans |= {phrase for phrase, needle in folded.items() if phrase not in spans and needle in haystack}
    return spans


def _texts(sources: Sequence[Source]) -> Iterator[str]:
    for source in sources:
        starts = source.segment.text_starts
        for document in np.flatnonzero(source.live).tolist():
            yield source.segment.long_text(int(starts[document]), int(starts[document + 1]))


def one_line(text: str) -> str:
    """A text with single spaces for all white space.

    >>> one_line("late\\n  fee ")
    'late fee'
    """
    return " ".join(text.split())


@dataclass(frozen=True, slots=True)
class EncodedPhrases:
    """Phrases with all that engines may ask by."""

    queries: Queries
    bounds: Int[np.ndarray, " queries_and_one"]


def encode_phrases(encoder: Encoder, phrases: Sequence[str]) -> EncodedPhrases:
    """The phrases' vectors, and those of their tokens, special tokens left out."""
    vectors: list[Float32[np.ndarray, "queries dim"]] = []
    tokens: list[Float32[np.ndarray, "_tokens dim"]] = []
    for begin in range(0, len(phrases), _TOGETHER):
        batch = phrases[begin : begin + _TOGETHER]
        vectors.append(encode_queries(encoder, batch))
        (batch_vectors,) = encoder.forward([[each.ids for each in encoder.tokenize(batch)]])
        tokens += [unit_length(each) for each in batch_vectors]
    bounds = np.cumsum([0, *(len(each) for each in tokens)])
    return EncodedPhrases(Queries(phrases, np.concatenate(vectors), tokens), bounds)
