"""Labels: human judgements of the degree to which a phrase and a text mean the same."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from models.errors import InvalidInput
from models.types import CharSpan

FEWEST = 20
# The highest degree, and the lowest that counts as a match ("mostly equivalent" in STS-B).
MOST_DEGREE, MATCH_DEGREE = 5.0, 4.0

_HINT = (
    'A label is like {"phrase": "cancel my plan", "text": "stop the contract", "match": true} or '
    '{"phrase": "cancel my plan", "span": {"document_id": "call-1", "start": 4, "end": 21}, "degree": 4.5}.'
)


class LabelsRefused(InvalidInput):
    """The labels cannot be used for a calibration; nothing was saved."""

    code = "labels_refused"


@dataclass(frozen=True, slots=True)
class StoredSpan:
    """A span of a document of the collection."""

    document_id: str
    span: CharSpan


@dataclass(frozen=True, slots=True)
class Label:
    """A degree from 0 to 5 to which a text, or a stored span, means the same as a phrase. ``where`` names its line.

    A label candidate has the ``probability`` with which it was drawn, and its ``stratum``.
    """

    where: str
    phrase: str
    target: str | StoredSpan
    degree: float
    probability: float | None = None
    stratum: int = 0

    @property
    def is_match(self) -> bool:
        """True for a degree of 4 or more."""
        return self.degree >= MATCH_DEGREE


def label_from_json(value: object, where: str) -> Label:
    """A label from an object. Exactly one of ``text`` and ``span``, and of ``match`` and ``degree``.

    Other fields are ignored.

    >>> label_from_json({"phrase": "late fees", "text": "a fine", "match": True}, "line 1").degree
    5.0
    """
    if not isinstance(value, dict):
        raise refused(where, "it is not an object")
    given: dict[str, Any] = {name: item for name, item in value.items() if item is not None}
    for one, other in (("text", "span"), ("match", "degree")):
        if (one in given) == (other in given):
            raise refused(where, f"it must have either {one} or {other}")
    phrase = _text(given.get("phrase"), "phrase", where)
    target = _text(given["text"], "text", where) if "text" in given else _stored(given["span"], where)
    degree = _match(given["match"], where) if "match" in given else _degree(given["degree"], where)
    return Label(where, phrase, target, degree, _probability(given, where), _stratum(given, where))


def checked_labels(labels: Iterable[Label]) -> list[Label]:
    """Distinct labels, in order.

    Raises ``LabelsRefused`` for contradictions, for fewer than 20, for one class only, and if only some have a
    probability.
    """
    first: dict[tuple[str, str | StoredSpan], Label] = {}
    for label in labels:
        earlier = first.setdefault((label.phrase, label.target), label)
        if earlier.degree != label.degree:
            reason = f"it contradicts {earlier.where}, which labels the same pair differently"
            raise refused(label.where, reason, hint="Remove one of the two, or both.")
    if len(first) < FEWEST:
        raise LabelsRefused(
            f"{len(first)} different labels are too few.", hint=f"Give at least {FEWEST}.", field="labels"
        )
    if len({label.probability is None for label in first.values()}) > 1:
        raise LabelsRefused(
            "Some labels have a probability, and others have none.",
            hint="Use label candidates only, or leave all probabilities out.",
            field="labels",
        )
    if len({label.is_match for label in first.values()}) == 1:
        raise LabelsRefused(
            "All labels are of one class.",
            hint=f"Give labels that match and labels that do not; a degree of {MATCH_DEGREE:g} or more is a match.",
            field="labels",
        )
    return list(first.values())


def refused(where: str, reason: str, hint: str | None = None) -> LabelsRefused:
    """The error for one label; the default hint shows an example."""
    return LabelsRefused(f"{where} is not a valid label: {reason}.", hint=hint or _HINT, field="labels")


def _text(value: object, name: str, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise refused(where, f"{name} is not a non-blank string")
    return value


def _stored(value: object, where: str) -> StoredSpan:
    given = value if isinstance(value, dict) else {}
    start, end = given.get("start"), given.get("end")
    numbers = all(isinstance(number, int) and not isinstance(number, bool) for number in (start, end))
    if not isinstance(given.get("document_id"), str) or not numbers:
        raise refused(where, "span needs document_id, start and end")
    return StoredSpan(given["document_id"], CharSpan(given["start"], given["end"]))


def _match(value: object, where: str) -> float:
    if not isinstance(value, bool):
        raise refused(where, "match is neither true nor false")
    return MOST_DEGREE if value else 0.0


def _degree(value: object, where: str) -> float:
    # NaN passes no comparison; JSON's true is an int to Python.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_DEGREE:
        raise refused(where, f"degree is not a number from 0 to {MOST_DEGREE:g}")
    return float(value)


def _probability(given: Mapping[str, Any], where: str) -> float | None:
    value = given.get("probability")
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1):
        raise refused(where, "probability is not a number above 0, up to 1")
    return None if value is None else float(value)


def _stratum(given: Mapping[str, Any], where: str) -> int:
    value = given.get("stratum", 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise refused(where, "stratum is not a whole number of at least 0")
    return value
