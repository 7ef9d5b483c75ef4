"""BM25, the lexical baseline."""

from collections.abc import Sequence

import bm25s
import numpy as np
from jaxtyping import Float


def bm25_scores(queries: Sequence[str], passages: Sequence[str]) -> Float[np.ndarray, " rows"]:
    """The BM25 score of every query for its own passage.

    The form is that of Lucene (k1 = 1.5, b = 0.75, no negative weights), English stop words are left out, and the
    passages are the corpus from which words get their weights. The SLICE paper has Okapi BM25 with the weights of
    Wikitext-103.

    Two words in one of two passages of like length: 2 ln(2) / (1 + k1).

    >>> bm25_scores(["red car", "the"], ["a red car", "the blue house"]).round(2).tolist()
    [0.55, 0.0]
    """
    retriever = bm25s.BM25()
    retriever.index(bm25s.tokenize(list(passages), stopwords="en", show_progress=False), show_progress=False)
    words = bm25s.tokenize(list(queries), stopwords="en", return_ids=False, show_progress=False)
    # bm25s cannot score a query that consists of stop words alone.
    return np.array([retriever.get_scores(query)[row] if query else 0.0 for row, query in enumerate(words)], float)
