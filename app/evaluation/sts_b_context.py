"""STS-B-Context, Table 1 of the SLICE paper: how well does the best span's cosine follow human similarity?

A row is a query, a passage that contains a paraphrase of it, and the similarity people gave the two. Figures are
correlations of the raw cosine with that similarity; no map is fitted.
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
from jaxtyping import Float, Int
from scipy import stats

from models.encoders.base import Encoder, encode_queries, tokenize_units
from models.errors import InvalidInput
from models.ops.pooling import pool
from models.ops.spans import enumerate_spans, span_cosines
from models.tokens import UnitTokens, unit_shares
from models.types import QueryVectors, SpanBounds, UnitVectors

BATCH_TOKENS = 4_096
COLUMNS = ("line", "paraphrase", "passage", "goldsim")


@dataclass(frozen=True, slots=True)
class Row:
    """A query, what stands for it in the passage, the passage, and the similarity of the first two (0 to 5)."""

    query: str
    paraphrase: str
    passage: str
    gold: float


@dataclass(frozen=True, slots=True)
class Correlations:
    """Pearson's and Spearman's correlation of scores with what people said."""

    pearson: float
    spearman: float


def read_rows(path: Path) -> list[Row]:
    """Rows of a TSV file (csv quoting) with the columns ``line``, ``paraphrase``, ``passage`` and ``goldsim``."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t")
        missing = set(COLUMNS) - set(reader.fieldnames or ())
        if missing:
            raise InvalidInput(
                f"{path.name} lacks the columns {', '.join(sorted(missing))}.",
                hint=f"STS-B-Context is a TSV with the columns {', '.join(COLUMNS)}.",
                field="data",
            )
        return [Row(row["line"], row["paraphrase"], row["passage"], float(row["goldsim"])) for row in reader]


def evaluate(
    encoder: Encoder, rows: Sequence[Row], setups: Sequence[str] = (), bounds: SpanBounds | None = None
) -> dict[str, Correlations]:
    """Correlations of an encoder in the paper's set-ups, all three unless some are named.

    >>> from models.encoders.hashing import HashingEncoder
    >>> rows = [Row("a b", "a b", "c a b", 5.0), Row("a b", "a d", "c a d", 2.5), Row("a b", "e f", "e f g", 0.0)]
    >>> figures = evaluate(HashingEncoder(dim=256), rows)
    >>> sorted(figures), figures["single_pass"].pearson > 0.9
    (['full_context', 'ngram_forward', 'single_pass'], True)
    """
    gold = np.array([row.gold for row in rows])
    return {
        setup: correlations(setup_scores(encoder, rows, setup, bounds or SpanBounds()), gold)
        for setup in setups or SETUPS
    }


def correlations(scores: Float[np.ndarray, " rows"], gold: Float[np.ndarray, " rows"]) -> Correlations:
    """Correlations of scores with the gold.

    >>> correlations(np.array([0.1, 0.2, 0.4]), np.array([1.0, 2.0, 4.0]))
    Correlations(pearson=1.0, spearman=1.0)
    """
    pearson, spearman = stats.pearsonr(scores, gold).statistic, stats.spearmanr(scores, gold).statistic
    return Correlations(round(float(pearson), 6), round(float(spearman), 6))


def setup_scores(encoder: Encoder, rows: Sequence[Row], setup: str, bounds: SpanBounds) -> Float[np.ndarray, " rows"]:
    """The raw cosine of every row in one set-up: of the whole passage, or of its best span."""
    if setup not in SETUPS:
        raise InvalidInput(f"There is no set-up {setup!r}.", hint=f"Set-ups are: {', '.join(SETUPS)}.", field="setups")
    queries = encode_texts(encoder, [row.query for row in rows])
    return SETUPS[setup](encoder, rows, queries, bounds)


def isolated_scores(encoder: Encoder, rows: Sequence[Row]) -> Float[np.ndarray, " rows"]:
    """The cosine of query and paraphrase without any passage: what the search would find if it could not err."""
    queries = encode_texts(encoder, [row.query for row in rows])
    return np.einsum("rd,rd->r", queries, encode_texts(encoder, [row.paraphrase for row in rows]))


def encode_texts(encoder: Encoder, texts: Sequence[str]) -> QueryVectors:
    """Unit-length vectors of any number of texts, each encoded alone; texts of like length share a forward pass."""
    vectors = np.zeros((len(texts), encoder.dim), np.float32)
    order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    begin = 0
    while begin < len(order):
        batch = order[begin : begin + max(1, BATCH_TOKENS // _about_tokens(texts[order[begin]]))]
        vectors[batch] = encode_queries(encoder, [texts[number] for number in batch])
        begin += len(batch)
    return vectors


def _about_tokens(text: str) -> int:
    return 3 + len(text) // 4


def _full_context(
    encoder: Encoder, rows: Sequence[Row], queries: QueryVectors, bounds: SpanBounds
) -> Float[np.ndarray, " rows"]:
    return np.einsum("rd,rd->r", queries, encode_texts(encoder, [row.passage for row in rows]))


def _ngram_forward(
    encoder: Encoder, rows: Sequence[Row], queries: QueryVectors, bounds: SpanBounds
) -> Float[np.ndarray, " rows"]:
    return np.array(
        [
            (encode_texts(encoder, ngrams(encoder, row.passage, bounds)) @ query).max()
            for row, query in zip(rows, queries, strict=True)
        ]
    )


def _single_pass(
    encoder: Encoder, rows: Sequence[Row], queries: QueryVectors, bounds: SpanBounds
) -> Float[np.ndarray, " rows"]:
    passages = unit_vectors(encoder, [row.passage for row in rows])
    return np.array(
        [
            span_cosines(query, units, enumerate_spans(len(units), bounds)).max()
            for query, units in zip(queries, passages, strict=True)
        ]
    )


SETUPS: Mapping[str, Callable[[Encoder, Sequence[Row], QueryVectors, SpanBounds], Float[np.ndarray, " rows"]]] = (
    MappingProxyType({"full_context": _full_context, "ngram_forward": _ngram_forward, "single_pass": _single_pass})
)


def ngrams(encoder: Encoder, passage: str, bounds: SpanBounds) -> list[str]:
    """The distinct texts of all spans of a passage.

    >>> from models.encoders.hashing import HashingEncoder
    >>> ngrams(HashingEncoder(), "so so good", SpanBounds(1, 2))
    ['so', 'good', 'so so', 'so good']
    """
    spans = tokenize_units(encoder, [passage])[0].spans
    within: Int[np.ndarray, "spans 2"] = enumerate_spans(len(spans), bounds)
    return list(dict.fromkeys(passage[spans[i, 0] : spans[j - 1, 1]] for i, j in within))


def unit_vectors(encoder: Encoder, passages: Sequence[str]) -> list[UnitVectors]:
    """Unit vectors of every passage, from one forward pass over the whole of it.

    >>> from models.encoders.hashing import HashingEncoder
    >>> [units.shape for units in unit_vectors(HashingEncoder(dim=8), ["one two", "three"])]
    [(2, 8), (1, 8)]
    """
    joined = tokenize_units(encoder, passages)
    for of_passage in joined:
        _check_window(encoder, of_passage)
    forward = encoder.forward([of_passage.tokens.ids] for of_passage in joined)
    return [
        pool(vectors, *unit_shares(of_passage, 0, len(of_passage)))
        for of_passage, (vectors,) in zip(joined, forward, strict=True)
    ]


def _check_window(encoder: Encoder, joined: UnitTokens) -> None:
    if len(joined.tokens.ids) > encoder.window:
        raise InvalidInput(
            f"A passage has {len(joined.tokens.ids)} tokens; a window holds {encoder.window}.",
            hint="STS-B-Context passages are a sentence or two; longer texts go through the indexer's windows.",
            field="data",
        )
