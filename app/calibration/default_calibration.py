"""The calibration that a new collection starts with: its encoder's default one."""

from app.search.encoders import Encoders
from indexer.tuning import CalibrationDraft
from indexer.types import Recipe

NOTE = "The encoder's default: what people said of graded pairs in context."


def default_calibration(encoders: Encoders, recipe: Recipe) -> CalibrationDraft | None:
    """The default of the recipe's encoder, for its span bounds; none where the encoder has none, and score is raw."""
    found = encoders.default_calibration(recipe.encoder)
    if found is None:
        return None
    return CalibrationDraft(
        "best_span", recipe.fingerprint, recipe.bounds, found.knots, found.method, found.pairs, NOTE, found.figures
    )
