"""Points on the scale of the first look: from which similarity on a match may be likely, and from which it is."""

from models.verifier.verdicts import Scale


def even_similarity(scale: Scale) -> float:
    """The similarity (raw) from which on a match is more probable than not where neither rules nor network say more.

    >>> from models.verifier.verdicts import UNSCALED
    >>> even_similarity(UNSCALED)
    0.9
    """
    return _point(scale, 0.0)


def least_similarity(scale: Scale, near: float) -> float:
    """The similarity below which no text is likely, whatever rules and network say.

    ``near`` is the similarity from which on the network is asked.

    >>> from models.verifier.verdicts import Evidence
    >>> least_similarity(Scale(-9.0, Evidence(10.0, 1.0, -2.0, 1.5)), near=0.8)
    0.75
    """
    weights = scale.weights
    most = max(0.0, weights.contradicted) + max(0.0, weights.met)
    return min(_point(scale, most), near) if weights.near else _point(scale, most)


def _point(scale: Scale, others: float) -> float:
    """The similarity at which the log odds are 0, beside other evidence of this weight; 1 if they never are."""
    slope = scale.weights.similarity
    return round(min(1.0, max(0.0, -(scale.intercept + others) / slope)), 4) if slope > 0 else 1.0
