"""Texts that are encoded into segments in memory, one for each: to be searched once, and stored nowhere."""

from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np

from indexer.indexing.encode import SplitDocument, encode, split
from indexer.segments.memory import MemorySegment
from indexer.types import Recipe
from indexer.words.files import StoredWords
from indexer.words.recipe import NAME, has_words
from models.encoders.base import Encoder
from models.encoders.passes import TextPass
from models.errors import InvalidInput
from models.text.folding import folded_units
from models.types import Document

# Tokens of a forward pass; the network for queries shares them among its threads.
_BATCH_TOKENS = 4_096


def segments_in_memory(
    encoder: Encoder, documents: Sequence[Document], recipe: Recipe, first: int = 0
) -> Iterator[MemorySegment]:
    """A segment for every document, in order, with words if the recipe has them. Torch is used only where it must be.

    Raises ``InvalidInput`` for a text that the encoder cannot read; it names the text by its number, from ``first``.

    >>> from models.encoders.hashing import HashingEncoder
    >>> from models.types import Part
    >>> encoder = HashingEncoder()
    >>> recipe = Recipe("hashing", encoder.fingerprint, encoder.dim)
    >>> texts = [Document(str(n), (Part(text),)) for n, text in enumerate(["a red car", "", "snow"])]
    >>> [segment.manifest.units for segment in segments_in_memory(encoder, texts, recipe)]
    [3, 0, 1]
    """
    items = list(split(encoder, [(document, "") for document in documents]))
    for number, item in enumerate(items, first):
        _refuse_unreadable(encoder, number, item)
    waiting = deque(items)
    vectors = np.zeros((0, encoder.dim), np.float32)
    for pool in encode(encoder, items, _BATCH_TOKENS, TextPass(encoder)):
        vectors = np.concatenate([vectors, pool.vectors])
        while waiting and (units := sum(map(len, waiting[0].parts))) <= len(vectors):
            item = waiting.popleft()
            stored = {NAME: _words(item)} if has_words(recipe) else {}
            yield MemorySegment(item.document, item.part_units, vectors[:units], recipe, stored)
            vectors = vectors[units:]


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
