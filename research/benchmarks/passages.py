"""Passages: what multi-vector engines take for documents. Parts, cut where they are longer than such engines expect."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from models.types import UnitSpan

if TYPE_CHECKING:
    from indexer.segments.reader import Segment

# ColBERT and its kin read passages of about this length.
LONGEST = 128


def cut(part_units: Int[np.ndarray, " parts_and_one"], longest: int = LONGEST) -> Int[np.ndarray, " passages_and_one"]:
    """The first unit of every passage, and the number of units. Parts without a unit have no passage.

    >>> cut(np.array([0, 3, 3, 8]), longest=3).tolist()
    [0, 3, 6, 8]
    """
    starts = [np.arange(begin, end, longest) for begin, end in pairwise(part_units.tolist())]
    return np.concatenate([*starts, part_units[-1:]])


def passage_of(
    passage_units: Int[np.ndarray, " passages_and_one"], units: Int[np.ndarray, "*shape"]
) -> Int[np.ndarray, "*shape"]:
    """The passages that units belong to.

    >>> passage_of(np.array([0, 3, 6, 8]), np.array([0, 2, 3, 7])).tolist()
    [0, 0, 1, 2]
    """
    return np.searchsorted(passage_units, units, side="right") - 1


def passage_texts(segments: Sequence["Segment"], passage_units: Int[np.ndarray, " passages_and_one"]) -> list[str]:
    """Return the text of every passage."""
    texts, first = [], 0
    for segment in segments:
        last = first + segment.manifest.units
        bounds = passage_units[(passage_units >= first) & (passage_units <= last)] - first
        documents = np.searchsorted(segment.document_units, bounds[:-1], side="right") - 1
        spans = zip(bounds[:-1].tolist(), bounds[1:].tolist(), documents.tolist(), strict=True)
        texts += [segment.text(document, segment.char_span(UnitSpan(begin, end))) for begin, end, document in spans]
        first = last
    return texts
