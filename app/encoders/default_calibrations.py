"""The calibration of a new collection: the default of its encoder."""

import numpy as np

from app.encoders.encoders import Encoders
from indexer.tuning import CalibrationDraft, Tuning
from indexer.types import Recipe

NOTE = "The encoder's default, fitted to human judgements of pairs in context."


def default_calibration(encoders: Encoders, recipe: Recipe) -> CalibrationDraft | None:
    """The default of the recipe's encoder, for its span bounds. None if the encoder has none; score is then raw."""
    own = encoders.default_calibration(recipe.encoder)
    if own is None:
        return None
    fitted_to = f"{recipe.fingerprint}+{own.span_score}" if own.span_score else recipe.fingerprint
    return CalibrationDraft("best_span", fitted_to, recipe.bounds, own.knots, own.method, own.pairs, NOTE, own.figures)


def default_tuning(encoders: Encoders, recipe: Recipe) -> Tuning:
    """The tuning of a new collection: the calibration ``default``, if the encoder has one, and no threshold."""
    draft = default_calibration(encoders, recipe)
    if draft is None:
        return Tuning()
    return Tuning(None, "default", np.array(draft.knots, np.float64), draft.fingerprint)
