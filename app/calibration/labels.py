"""Labels: human judgements of the degree to which a phrase and a text mean the same."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

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


class _StoredSpan(BaseModel):
    model_config = ConfigDict(strict=True)

    document_id: str
    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=0)]


class _Label(BaseModel):
    model_config = ConfigDict(strict=True)

    phrase: Annotated[str, Field(pattern=r"\S")]
    text: Annotated[str, Field(pattern=r"\S")] | None = None
    span: _StoredSpan | None = None
    match: bool | None = None
    degree: Annotated[FiniteFloat, Field(ge=0, le=MOST_DEGREE)] | None = None
    probability: Annotated[FiniteFloat, Field(gt=0, le=1)] | None = None
    stratum: Annotated[int, Field(ge=0, lt=2**31)] | None = None


_WRONG: Final[Mapping[str, str]] = {
    "phrase": "phrase is not a non-blank string",
    "text": "text is not a non-blank string",
    "span": "span needs document_id, start and end",
    "document_id": "span needs document_id, start and end: document_id is not a string",
    "start": "span needs document_id, start and end: start is not a whole number from 0",
    "end": "span needs document_id, start and end: end is not a whole number from 0",
    "match": "match is {input!r}, neither true nor false, nor yes, no, 1 or 0",
    "degree": f"degree is {{input!r}}, not a number from 0 to {MOST_DEGREE:g}",
    "probability": "probability is {input!r}, not a number above 0, up to 1",
    "stratum": "stratum is {input!r}, not a whole number from 0",
}


def label_from_json(value: object, where: str, *, strict: bool = True) -> Label:
    """A label from an object. Exactly one of ``text`` and ``span``, and of ``match`` and ``degree``.

    Other fields are ignored. Unless ``strict``, numbers and answers may be spelt out, as in CSV.

    >>> label_from_json({"phrase": "late fees", "text": "a fine", "match": True}, "line 1").degree
    5.0
    """
    if not isinstance(value, dict):
        raise refused(where, "it is not an object")
    for one, other in (("text", "span"), ("match", "degree")):
        if (value.get(one) is None) == (value.get(other) is None):
            raise refused(where, f"it must have either {one} or {other}")
    try:
        label = _Label.model_validate(value, strict=strict)
    except ValidationError as error:
        first = error.errors()[0]
        raise refused(where, _WRONG[str(first["loc"][-1])].format(input=first["input"])) from error
    span = label.span
    target = label.text if span is None else StoredSpan(span.document_id, CharSpan(span.start, span.end))
    degree = label.degree if label.match is None else MOST_DEGREE * label.match
    if target is None or degree is None:
        raise AssertionError("one of both was there")
    return Label(where, label.phrase, target, degree, label.probability, label.stratum or 0)


def distinct_labels(labels: Iterable[Label]) -> list[Label]:
    """Every label once, in order. Raises ``LabelsRefused`` for contradictions."""
    first: dict[tuple[str, str | StoredSpan], Label] = {}
    for label in labels:
        earlier = first.setdefault((label.phrase, label.target), label)
        if earlier.degree != label.degree:
            reason = f"it contradicts {earlier.where}, which labels the same pair differently"
            raise refused(label.where, reason, hint="Remove one of the two, or both.")
    return list(first.values())


def checked_labels(labels: Iterable[Label]) -> list[Label]:
    """Distinct labels, in order.

    Raises ``LabelsRefused`` for contradictions, for fewer than 20, for one class only, and if only some have a
    probability.
    """
    first = distinct_labels(labels)
    if len(first) < FEWEST:
        raise LabelsRefused(
            f"{len(first)} different labels are too few.", hint=f"Give at least {FEWEST}.", field="labels"
        )
    if len({label.probability is None for label in first}) > 1:
        raise LabelsRefused(
            "Some labels have a probability, and others have none.",
            hint="Use label candidates only, or leave all probabilities out.",
            field="labels",
        )
    if len({label.is_match for label in first}) == 1:
        raise LabelsRefused(
            "All labels are of one class.",
            hint=f"Give labels that match and labels that do not; a degree of {MATCH_DEGREE:g} or more is a match.",
            field="labels",
        )
    return first


def refused(where: str, reason: str, hint: str | None = None) -> LabelsRefused:
    """The error for one label; the default hint shows an example."""
    return LabelsRefused(f"{where} is not a valid label: {reason}.", hint=hint or _HINT, field="labels")
