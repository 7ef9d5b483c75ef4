"""BM25 over texts: what words alone can find."""

from collections.abc import Sequence

import bm25s
import numpy as np
from jaxtyping import Float, Int


class Bm25:
    """An index of texts by their words, English stop words left out; Lucene's variant, k1 = 1.5, b = 0.75.

    >>> index = Bm25(["the red car", "a blue car", "snow"])
    >>> index.best("red cars or any car", 2), index.best("the rain", 2)
    ([0, 1], [])
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._index = bm25s.BM25()
        self._index.index(_words(texts), show_progress=False)
        self._all = np.arange(len(texts))

    def best(self, query: str, k: int, among: Int[np.ndarray, " rows"] | None = None) -> list[int]:
        """Numbers of the ``k`` best texts, best first, of equals the first; none without a word of the query.

        ``among`` names the texts that may be found. A word's weight is always that in all texts.
        """
        rows = self._all if among is None else among
        scores = self.scores(query)[rows]
        order = np.argsort(-scores, kind="stable")[:k]
        return [int(row) for row in rows[order[scores[order] > 0]]]

    def scores(self, query: str) -> Float[np.ndarray, " texts"]:
        """The score of every text; zero for all where no text has a word of the query."""
        words = self._index.get_tokens_ids(*_words([query]))
        return self._index.get_scores_from_ids(words) if words else np.zeros(len(self._all))


def bm25_scores(queries: Sequence[str], passages: Sequence[str]) -> Float[np.ndarray, " rows"]:
    """The score of every query for its own passage; words get their weights from all the passages.

    The SLICE paper has Okapi BM25 with the weights of Wikitext-103.

    Two words in one of two passages of like length: 2 ln(2) / (1 + k1).

    >>> bm25_scores(["red car", "the"], ["a red car", "the blue house"]).round(2).tolist()
    [0.55, 0.0]
    """
    index = Bm25(passages)
    return np.array([index.scores(query)[row] for row, query in enumerate(queries)])


def _words(texts: Sequence[str]) -> list[list[str]]:
    words: list[list[str]] = bm25s.tokenize(list(texts), stopwords="en", return_ids=False, show_progress=False)
    return words
