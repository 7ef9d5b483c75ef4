"""The words of a segment by their stems."""

from collections.abc import Sequence
from zlib import crc32

import numpy as np

from models.text.words import Language, stems


class StemIndex:
    """Finds the numbers of the words that share a stem, from a hash and a number for each word: 8 bytes."""

    def __init__(self, terms: Sequence[str], language: Language) -> None:
        hashes = np.fromiter(map(_hash, stems(terms, language)), np.uint32, len(terms))
        self._numbers = np.argsort(hashes, kind="stable").astype(np.uint32) + 1
        self._hashes = hashes[self._numbers - 1]

    def candidates(self, stem: str) -> list[int]:
        """The numbers, from 1, of all words with this stem, rising; a hash that two stems share may add others.

        >>> StemIndex(["plan", "planned", "play"], "english").candidates("plan")
        [1, 2]
        """
        first, last = (np.searchsorted(self._hashes, np.uint32(_hash(stem)), side) for side in ("left", "right"))
        return np.sort(self._numbers[first:last]).tolist()


def _hash(stem: str) -> int:
    return crc32(stem.encode())
