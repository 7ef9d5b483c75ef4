"""Table 1 of the SLICE paper and what goes with it: baselines, significance, and the sweep over the longest span."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from jaxtyping import Float

from models.encoders.base import Encoder
from models.errors import InvalidInput
from models.ops.calibrate import Knots, score_from_raw
from models.ops.similarity import raws
from models.ops.span_score import COSINE, SpanScore
from models.types import SpanBounds
from research.evaluation.bm25 import bm25_scores
from research.evaluation.scoring import Scoring, Tell, setup_named, silent
from research.evaluation.setups import SETUPS
from research.evaluation.significance import Comparison, Correlations, compare, correlations
from research.evaluation.sts_b_context import Row

# The longest spans that the paper tries (section 5), in units.
SWEEP = (5, 10, 15, 20, 25, 30, 35)
UNTRAINED = "untrained"


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the table: an encoder, by name, in a set-up.

    >>> str(Entry.parse("slice:single_pass"))
    'slice:single_pass'
    """

    encoder: str
    setup: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """From ``ENCODER:SETUP``."""
        encoder, colon, setup = text.partition(":")
        if not colon:
            raise InvalidInput(
                f"{text!r} is not ENCODER:SETUP.", hint="Write, for example, untrained:single_pass.", field="baseline"
            )
        setup_named(setup)
        return cls(encoder, setup)

    def __str__(self) -> str:
        return f"{self.encoder}:{self.setup}"


@dataclass(frozen=True, slots=True)
class DegreeError:
    """The mean absolute error, in degrees from 0 to 5, of raw and of score; no score without a default calibration."""

    raw: float
    score: float | None


class Table1:
    """Figures of any encoders on the same rows; nothing is encoded twice.

    >>> from models.encoders.registry import load_encoder
    >>> rows = [Row("a b", "a b", "c a b", 5.0), Row("a b", "a d", "c a d", 2.5), Row("a b", "e f", "e f g", 0.0)]
    >>> table = Table1(rows, load_encoder, SpanBounds())
    >>> table.correlations(Entry("hashing", "single_pass")).pearson > 0.9
    True
    """

    def __init__(
        self,
        rows: Sequence[Row],
        load: Callable[[str], Encoder],
        bounds: SpanBounds,
        folder: Path | None = None,
        tell: Tell = silent,
        discount: float = 0.0,
        span_scores: Callable[[Encoder], SpanScore] = lambda _: COSINE,
    ) -> None:
        self._load = load
        self._bounds = bounds
        self._gold = np.array([row.gold for row in rows])
        self._queries = [row.query for row in rows]
        self._passages = [row.passage for row in rows]
        self._contexts = Scoring(self._queries, self._passages, folder, tell, discount, span_scores)
        self._gold_pairs = Scoring(self._queries, [row.paraphrase for row in rows], folder, tell)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._gold)

    def correlations(self, entry: Entry) -> Correlations:
        """Correlations of an entry's scores with the gold."""
        return correlations(self._scores(entry, self._bounds), self._gold)

    def degree_error(self, entry: Entry, default: Knots | None) -> DegreeError:
        """Mean absolute error of an entry's scores, times five, against grades: as raw, and through a calibration."""
        raw = raws(self._scores(entry, self._bounds).astype(np.float64))
        score = None if default is None else score_from_raw(raw, default)
        return DegreeError(self._error(raw), None if score is None else self._error(score))

    def _error(self, values: Float[np.ndarray, " rows"]) -> float:
        return round(float(np.abs(5 * values - self._gold).mean()), 4)

    def gold_pair(self, encoder: str) -> Correlations:
        """Those of query and paraphrase without any context: what a search that never errs would reach."""
        return correlations(self._gold_pairs.scores(self._load(encoder), "full_context", self._bounds), self._gold)

    def bm25(self) -> Correlations:
        """Those of BM25 over the passages."""
        return correlations(bm25_scores(self._queries, self._passages), self._gold)

    def compare(self, entry: Entry, baseline: Entry) -> Comparison:
        """Compare the Pearson correlation of an entry with that of a baseline."""
        return compare(self._scores(entry, self._bounds), self._scores(baseline, self._bounds), self._gold)

    def sweep(self, entry: Entry) -> dict[int, Correlations]:
        """Correlations by the length of the longest span."""
        # The longest comes first, because the scores of all shorter spans are found on the way.
        points = {
            longest: correlations(self._scores(entry, SpanBounds(self._bounds.shortest, longest)), self._gold)
            for longest in reversed(SWEEP)
            if longest >= self._bounds.shortest
        }
        return dict(sorted(points.items()))

    def _scores(self, entry: Entry, bounds: SpanBounds) -> Float[np.ndarray, " rows"]:
        return self._contexts.scores(self._load(entry.encoder), entry.setup, bounds)


@dataclass(frozen=True, slots=True)
class Compared:
    """A baseline, its figures, and how each set-up of the encoder compares with it."""

    baseline: str
    pearson: float
    spearman: float
    setups: dict[str, Comparison]


@dataclass(frozen=True, slots=True)
class Report:
    """The figures of one encoder by set-up, and what else was asked for; entries are named ``ENCODER:SETUP``."""

    rows: int
    setups: dict[str, Correlations]
    baselines: dict[str, Correlations] | None = None
    comparison: Compared | None = None
    sweep: dict[str, dict[int, Correlations]] | None = None
    degree_errors: dict[str, DegreeError] | None = None

    def as_json(self) -> dict[str, Any]:
        """The report without what was not asked for.

        >>> Report(2, {"single_pass": Correlations(0.5, 0.25)}).as_json()
        {'rows': 2, 'setups': {'single_pass': {'pearson': 0.5, 'spearman': 0.25}}}
        """
        return {name: value for name, value in asdict(self).items() if value is not None}


def make_report(
    table1: Table1,
    entries: Sequence[Entry],
    *,
    table: bool,
    baseline: Entry | None,
    swept: Sequence[Entry],
    default: Knots | None = None,
) -> Report:
    """Evaluate the entries, which are of one encoder; the baselines, too, and compare, and sweep, as asked.

    ``default`` is the encoder's default calibration, which its degree errors are measured with.
    """
    # The sweep first: its scores hold those of the other figures.
    by_longest = {str(entry): table1.sweep(entry) for entry in swept}
    return Report(
        rows=len(table1),
        setups={entry.setup: table1.correlations(entry) for entry in entries},
        baselines=_baselines(table1, entries) if table else None,
        comparison=_compared(table1, entries, baseline) if baseline else None,
        sweep=by_longest or None,
        degree_errors={entry.setup: table1.degree_error(entry, default) for entry in entries},
    )


def swept_entries(encoder: str, named: Sequence[Entry], baseline: Entry | None) -> list[Entry]:
    """Entries that a sweep covers: the single pass, and what else compares spans of the entries named and the baseline.

    >>> named = [Entry("slice", "full_context"), Entry("slice", "ngram_forward")]
    >>> [str(entry) for entry in swept_entries("slice", named, Entry("untrained", "single_pass"))]
    ['slice:single_pass', 'slice:ngram_forward', 'untrained:single_pass']
    """
    entries = [Entry(encoder, "single_pass"), *named, *([baseline] if baseline else [])]
    return [entry for entry in dict.fromkeys(entries) if SETUPS[entry.setup].over_spans]


def _baselines(table1: Table1, entries: Sequence[Entry]) -> dict[str, Correlations]:
    untrained = [Entry(UNTRAINED, setup) for setup in dict.fromkeys([*(entry.setup for entry in entries), "start_end"])]
    return {
        "bm25": table1.bm25(),
        **{str(entry): table1.correlations(entry) for entry in untrained},
        **{f"{name}:gold_pair": table1.gold_pair(name) for name in (UNTRAINED, entries[0].encoder)},
    }


def _compared(table1: Table1, entries: Sequence[Entry], baseline: Entry) -> Compared:
    figures = table1.correlations(baseline)
    setups = {entry.setup: table1.compare(entry, baseline) for entry in entries if entry != baseline}
    return Compared(str(baseline), figures.pearson, figures.spearman, setups)
