"""Word vectors of the most frequent words of a corpus, from its co-occurrences or by a frozen encoder.

Co-occurrences: positive pointwise mutual information, factorised by a truncated SVD, with smoothed contexts, weights
that fall with distance, and square roots of the singular values (Levy, Goldberg and Dagan, 2015, "Improving
Distributional Similarity with Lessons Learned from Word Embeddings"). A frozen encoder: the mean of the token vectors
of every word, encoded alone, on its principal directions. The same corpus, seed and encoder give the same vectors.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from jaxtyping import Float, Float32, Int32
from scipy.sparse import coo_array, csr_array
from sklearn.utils.extmath import randomized_svd

from models.errors import InvalidInput
from models.ops.similarity import normalize
from models.types import JsonValue
from research.evaluation.wikipedia import Article, is_held_out
from spanseek_facets.readers import Reader
from spanseek_facets.word_vectors import WordVectors, split_words

_GAP = -1  # stands for a word that is not in the vocabulary, and between two texts
_READ_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class WordVectorShape:
    """Number of words, their dimensions, and what counts as a co-occurrence."""

    words: int = 30_000
    dim: int = 200
    window: int = 5
    smoothing: float = 0.75
    fewest: float = 1.5
    seed: int = 13

    def facts(self) -> dict[str, JsonValue]:
        """Facts that a model card states."""
        return asdict(self)


def article_texts(articles: Iterable[Article]) -> Iterator[str]:
    """The texts of articles that are not held out."""
    for article in articles:
        if not is_held_out(article):
            yield "\n".join(text for section in article.sections for text in section.paragraphs)


def learn_word_vectors(texts: Iterable[str], shape: WordVectorShape) -> WordVectors:
    """Word vectors of the most frequent words, from co-occurrences. Raises ``InvalidInput`` for too few words."""
    numbers, vocabulary = _count(texts, shape)
    information = ppmi(co_occurrences(numbers, len(vocabulary.words), shape), shape.smoothing)
    left, strengths, _ = randomized_svd(information, shape.dim, n_iter=3, random_state=shape.seed)
    return vocabulary.placed((left * np.sqrt(strengths)).astype(np.float32))


def encode_word_vectors(texts: Iterable[str], shape: WordVectorShape, reader: Reader) -> WordVectors:
    """Word vectors of the most frequent words, by a frozen encoder. Raises ``InvalidInput`` for too few words.

    Token vectors have a common direction, which the mean over all words takes away. The largest principal directions
    keep what distinguishes words.
    """
    _, vocabulary = _count(texts, shape)
    means = normalize(mean_vectors(reader, vocabulary.words)).astype(np.float64)
    centred = means - means.mean(axis=0)
    if shape.dim > reader.dim:
        raise InvalidInput(
            f"The encoder has {reader.dim} dimensions, fewer than {shape.dim}.", hint="Give fewer.", field="dim"
        )
    _, directions = np.linalg.eigh(centred.T @ centred)
    return vocabulary.placed((centred @ directions[:, : -shape.dim - 1 : -1]).astype(np.float32))


def mean_vectors(reader: Reader, words: Sequence[str]) -> Float32[np.ndarray, "words read"]:
    """The mean of the vectors that a reader has of every word; 0 for a word of which it reads nothing."""
    ids = reader.ids(words)
    means = np.zeros((len(ids), reader.dim), np.float32)
    order = np.argsort([len(row) for row in ids], kind="stable")
    for begin in range(0, len(order), _READ_AT_ONCE):
        rows = order[begin : begin + _READ_AT_ONCE]
        vectors, mask = reader.vectors([ids[row] for row in rows])
        means[rows] = vectors.sum(axis=1, where=mask[..., None]) / mask.sum(axis=1, keepdims=True).clip(1)
    return means


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """The most frequent words, and their shares of the corpus."""

    words: tuple[str, ...]
    shares: Float[np.ndarray, " words"]

    def placed(self, vectors: Float32[np.ndarray, "words dim"]) -> WordVectors:
        """The words at these vectors, centred and of length 1."""
        return WordVectors(self.words, normalize(vectors - vectors.mean(axis=0)), self.shares)


def _count(texts: Iterable[str], shape: WordVectorShape) -> tuple[Int32[np.ndarray, " running"], _Vocabulary]:
    """The running words by their place in the vocabulary, and the vocabulary, the most frequent word first."""
    numbers, words = _number_words(texts)
    counts = np.bincount(numbers[numbers >= 0], minlength=len(words))
    by_count = np.argsort(-counts, kind="stable")[: shape.words]
    if len(by_count) <= shape.dim:
        raise InvalidInput(
            f"The texts have {len(by_count)} different words, too few for {shape.dim} dimensions.",
            hint="Give more text, or fewer dimensions.",
            field="dim",
        )
    renumbered = np.full(len(words) + 1, _GAP, np.int32)  # the last place is that of gaps
    renumbered[by_count] = np.arange(len(by_count))
    return renumbered[numbers], _Vocabulary(tuple(words[place] for place in by_count), counts[by_count] / counts.sum())


def co_occurrences(numbers: Int32[np.ndarray, " running"], words: int, shape: WordVectorShape) -> csr_array:
    """Count how often two words stand in one window; neighbours count 1, the farthest ``1 / window``.

    >>> shape = WordVectorShape(window=2, fewest=0)
    >>> co_occurrences(np.array([0, 1, 0, -1, 1], np.int32), 2, shape).toarray().tolist()
    [[1.0, 2.5], [2.5, 0.0]]
    """
    total = csr_array((words, words), dtype=np.float32)
    for distance in range(1, shape.window + 1):
        first, second = numbers[:-distance], numbers[distance:]
        real = (first >= 0) & (second >= 0)
        weights = np.full(int(real.sum()), (shape.window + 1 - distance) / shape.window, np.float32)
        total = total + coo_array((weights, (first[real], second[real])), shape=(words, words)).tocsr()
    total = (total + total.T).tocsr()
    total.data[total.data < shape.fewest] = 0
    total.eliminate_zeros()
    return total


def ppmi(counts: csr_array, smoothing: float) -> csr_array:
    """Positive pointwise mutual information; contexts count by their frequency to the power of ``smoothing``.

    >>> information = ppmi(csr_array(np.array([[0.0, 2.0], [2.0, 0.0]], np.float32)), 1.0)
    >>> bool(np.allclose(information.toarray(), [[0, np.log(2)], [np.log(2), 0]]))
    True
    """
    pairs = counts.tocoo()
    rows = np.asarray(counts.sum(axis=1), np.float64).ravel()
    contexts = np.asarray(counts.sum(axis=0), np.float64).ravel() ** smoothing
    share = contexts / contexts.sum()
    with np.errstate(divide="ignore"):
        information = np.log(pairs.data / (rows[pairs.row] * share[pairs.col]))
    positive = information > 0
    values: Float32[np.ndarray, " pairs"] = information[positive].astype(np.float32)
    return coo_array((values, (pairs.row[positive], pairs.col[positive])), shape=counts.shape).tocsr()


def _number_words(texts: Iterable[str]) -> tuple[Int32[np.ndarray, " running"], list[str]]:
    """The running words by number, with a gap after every text, and the words by number."""
    places: dict[str, int] = {}
    parts: list[Int32[np.ndarray, " _running"]] = []
    for text in texts:
        numbers = [places.setdefault(word, len(places)) for word in split_words(text)]
        parts.append(np.array([*numbers, _GAP], np.int32))
    return (np.concatenate(parts) if parts else np.zeros(0, np.int32)), list(places)
