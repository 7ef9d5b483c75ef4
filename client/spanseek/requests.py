"""Arguments of the client as bodies of the API."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from spanseek.errors import SpanseekError
from spanseek.models import FittedCalibration, Share, TaskDescription, WrittenDocuments
from spanseek.tables import rows_of
from spanseek.values import filled, json_of

# An expression such as ``duration >= 600``, or an object with ``document``, ``part`` and ``expression``.
FilterLike: TypeAlias = str | Mapping[str, object]


def authorization(key: str | None) -> dict[str, str]:
    """The headers of an API key. Raises ``SpanseekError`` for what cannot be one.

    >>> authorization("ssk_1")
    {'Authorization': 'Bearer ssk_1'}
    """
    if not key:
        return {}
    if not (key.isascii() and key.isprintable()):
        raise SpanseekError("An API key has printable signs of ASCII alone: check that it was copied as it is.")
    return {"Authorization": f"Bearer {key}"}


def filter_body(filter: FilterLike | None) -> Mapping[str, object] | None:
    """A filter in the form of request bodies.

    >>> filter_body("year >= 2020")
    {'expression': 'year >= 2020'}
    """
    return {"expression": filter} if isinstance(filter, str) else filter


def filter_text(filter: FilterLike | None) -> str | None:
    """A filter in the form of URL parameters.

    >>> filter_text({"document": {"year": 2020}})
    '{"document":{"year":2020}}'
    """
    return filter if filter is None or isinstance(filter, str) else json_of(filter).decode()


@dataclass(frozen=True, slots=True)
class FoundThreshold:
    """A threshold that labels suggest, on both scales, with what it finds at the share of the labels' population.

    ``score`` holds while the ``calibration`` is active, ``raw`` always: ``search(..., threshold=found)`` uses ``raw``.
    """

    raw: float
    score: float
    precision: Share
    recall: Share
    f1: Share
    calibration: str
    warnings: tuple[str, ...] = ()


# What a search takes as its threshold: a score, a point that was found, or `auto`: a match is more probable than not.
Threshold: TypeAlias = float | FoundThreshold | Literal["auto"]


@dataclass(frozen=True, slots=True)
class MinedCount:
    """Hits of a phrase and the documents that hold them: all, or those with a value of a key of metadata.

    ``complete`` is false if the phrase has more hits than the limit.
    """

    phrase: str
    key: str | None
    value: Any
    hits: int
    documents: int
    complete: bool


@dataclass(frozen=True, slots=True)
class Mined:
    """A mining that is done: the id of its task, by which its tables are read, and the counts."""

    id: str
    counts: list[MinedCount]


class ThresholdNotFound(SpanseekError):
    """No threshold reaches the precision that was asked for, with these labels."""


def threshold_fields(threshold: Threshold | None) -> dict[str, Any]:
    """The fields of a threshold in a request."""
    if isinstance(threshold, FoundThreshold):
        return {"threshold": threshold.raw, "threshold_on": "raw"}
    return {"threshold": threshold}


def labels_of(labels: Any, phrase: str) -> list[dict[str, object]]:  # noqa: ANN401  a frame, a table or a list
    """Labels in the form of the API; labels without a phrase get ``phrase``.

    >>> labels_of([("Billed twice.", True)], "I was charged twice")
    [{'phrase': 'I was charged twice', 'text': 'Billed twice.', 'match': True}]
    """
    return [{"phrase": phrase} | filled(row) for row in rows_of(_named(labels))]


def _named(labels: Any) -> Any:  # noqa: ANN401
    if isinstance(labels, list | tuple):
        return [{"text": each[0], "match": bool(each[1])} if isinstance(each, tuple) else each for each in labels]
    return labels


def found_threshold(answer: FittedCalibration, precision: float) -> FoundThreshold:
    """The suggested threshold of a calibration. Raises ``ThresholdNotFound``."""
    report = answer.report
    at = next((each.threshold for each in report.suggested if each.wish.startswith("precision")), None)
    if at is None:
        raise ThresholdNotFound(f"No threshold reaches precision {precision:g} with these labels: label more of them.")
    return FoundThreshold(
        at.raw, at.score, at.precision, at.recall, at.f1, answer.calibration.id, tuple(report.warnings)
    )


@dataclass(frozen=True, slots=True)
class Refused:
    """A document that was not indexed, and why. ``line`` counts from 1."""

    line: int | None
    id: str | None
    detail: str


@dataclass(frozen=True, slots=True)
class Added:
    """The outcome of adding documents: the numbers of indexed, unchanged and failed ones, and the first errors.

    For a file, ``lost`` is what it shows and the index lacks; ``notice`` says what was assumed or is doubtful.
    """

    indexed: int = 0
    unchanged: int = 0
    failed: int = 0
    errors: tuple[Refused, ...] = ()
    lost: tuple[str, ...] = ()
    notice: str = ""

    def __add__(self, other: "Added") -> "Added":
        return Added(
            self.indexed + other.indexed,
            self.unchanged + other.unchanged,
            self.failed + other.failed,
            self.errors + other.errors,
            self.lost + other.lost,
            "; ".join(filter(None, (self.notice, other.notice))),
        )

    @classmethod
    def of_task(cls, task: TaskDescription) -> "Added":
        """The outcome of an upload."""
        errors = tuple(Refused(each.line, each.id, each.detail) for each in task.errors)
        counts, result = task.counts, task.result or {}
        said = tuple(result.get("lost", ())), str(result.get("notice", ""))
        return cls(counts.get("indexed", 0), counts.get("unchanged", 0), counts.get("failed", 0), errors, *said)

    @classmethod
    def of_answer(cls, answer: WrittenDocuments) -> "Added":
        """The outcome of one request."""
        counts = Counter(each.status for each in answer.results)
        return cls(counts["indexed"], counts["unchanged"], counts["failed"], tuple(_refused(answer)))


def _refused(answer: WrittenDocuments) -> Iterator[Refused]:
    for line, each in enumerate(answer.results, 1):
        if each.error is not None:
            yield Refused(line, each.id, each.error.detail)


def listed(texts: str | Mapping[str, object] | Iterable[Any]) -> list[Any]:
    """Texts or objects as a list; one alone is a list of one."""
    return [texts] if isinstance(texts, str | Mapping) else list(texts)
