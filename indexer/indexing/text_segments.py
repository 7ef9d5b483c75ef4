"""Texts that are encoded into segments in memory, one for each: to be searched once, and stored nowhere."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from indexer.indexing.encode import SplitDocument, encode, split
from indexer.segments.memory import MemorySegment
from indexer.types import Recipe
from indexer.words.files import StoredWords
from indexer.words.recipe import NAME, has_words
from models.encoders.base import Encoder
from models.encoders.passes import TextPass
from models.errors import InvalidInput
from models.text.words import folded_units
from models.types import Document, UnitVectors

# Tokens of a forward pass, less than a second of one core; the network for queries shares them among its threads.
_BATCH_TOKENS = 1_024


@dataclass(frozen=True, slots=True)
class EncodedTexts:
    """The result of one step: the number of encoded characters, and the segments of texts that are whole now."""

    characters: int
    segments: list[MemorySegment]


def segments_in_memory(
    encoder: Encoder, documents: Sequence[Document], recipe: Recipe, first: int = 0
) -> Iterator[EncodedTexts]:
    """A segment for every document, in order, with words if the recipe has them. Torch is used only where it must be.

    Each step takes about a second of one core, so that other work may come between.
    Raises ``InvalidInput`` for a text that the encoder cannot read; it names the text by its number, from ``first``.

    >>> from models.encoders.hashing import HashingEncoder
    >>> from models.types import Part
    >>> encoder = HashingEncoder()
    >>> recipe = Recipe("hashing", encoder.fingerprint, encoder.dim)
    >>> texts = [Document(str(n), (Part(text),)) for n, text in enumerate(["a red car", "", "snow"])]
    >>> (step,) = segments_in_memory(encoder, texts, recipe)
    >>> step.characters, [segment.manifest.units for segment in step.segments]
    (13, [3, 0, 1])
    """
    items = list(split(encoder, [(document, "") for document in documents], recipe.text))
    for number, item in enumerate(items, first):
        _refuse_unreadable(encoder, number, item)
    a_unit = sum(len(item.document.text) for item in items) / max(sum(map(_units, items)), 1)
    waiting = deque(items)
    pending: list[UnitVectors] = [np.zeros((0, encoder.dim), np.float32)]
    for pool in encode(encoder, items, _BATCH_TOKENS, TextPass(encoder), batches=1):
        pending.append(pool.vectors)
        whole = []
        while waiting and (units := _units(waiting[0])) <= sum(map(len, pending)):
            item, vectors = waiting.popleft(), np.concatenate(pending)
            stored = {NAME: _words(item)} if has_words(recipe) else {}
            whole.append(MemorySegment(item.document, item.part_units, vectors[:units], recipe, stored))
            pending = [vectors[units:]]
        yield EncodedTexts(round(len(pool.vectors) * a_unit), whole)


def _units(item: SplitDocument) -> int:
    return sum(map(len, item.parts))


def _words(item: SplitDocument) -> StoredWords:
    parts = zip(item.document.parts, item.part_units, strict=True)
    return StoredWords.of([word for part, units in parts for word in folded_units(part.text, units.spans)])


def _refuse_unreadable(encoder: Encoder, number: int, item: SplitDocument) -> None:
    if item.longest_unit > encoder.window:
        raise InvalidInput(
            f"One unit of the text has {item.longest_unit} tokens; the encoder reads {encoder.window} at once.",
            hint="Remove the unreadable characters, or leave the text out.",
            field=f"texts[{number}]",
        )
