"""The figures of STS-B-Context of one encoder, straight from its scores."""

from collections.abc import Sequence

import numpy as np

from models.encoders.base import Encoder
from models.types import SpanBounds
from research.evaluation.scoring import Scoring
from research.evaluation.setups import PAPER
from research.evaluation.significance import Correlations, correlations
from research.evaluation.sts_b_context import Row


def evaluate(
    encoder: Encoder, rows: Sequence[Row], setups: Sequence[str] = PAPER, bounds: SpanBounds | None = None
) -> dict[str, Correlations]:
    scoring = Scoring([row.query for row in rows], [row.passage for row in rows])
    gold = np.array([row.gold for row in rows])
    return {setup: correlations(scoring.scores(encoder, setup, bounds or SpanBounds()), gold) for setup in setups}
