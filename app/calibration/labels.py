"""Labels: what people say of a phrase and a text, whether they mean the same or how much."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from models.errors import InvalidInput
from models.types import CharSpan

FEWEST = 20
# The highest degree; and from which one on a label counts as a match ("mostly equivalent", as STS-B has it).
MOST_DEGREE, MATCH_DEGREE = 5.0, 4.0

_HINT = (
    'A label is like {"phrase": "cancel my plan", "text": "stop the contract", "match": true} or '
    '{"phrase": "cancel my plan", "span": {"document_id": "call-1", "start": 4, "end": 21}, "degree": 4.5}.'
)
_YES_NO = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


class LabelsRefused(InvalidInput):
    """Nothing can be learned from these labels; nothing was saved."""

    code = "labels_refused"


@dataclass(frozen=True, slots=True)
class StoredSpan:
    """A span of a document of the collection."""

    document_id: str
    span: CharSpan


@dataclass(frozen=True, slots=True)
class Label:
    """A degree from 0 to 5 of how much a text, or a stored span, means the same as a phrase. ``where`` names it.

    One that was proposed knows with which ``probability`` it was, and from which ``stratum``.
    """

    where: str
    phrase: str
    target: str | StoredSpan
    degree: float
    probability: float | None = None
    stratum: int = 0

    @property
    def is_match(self) -> bool:
        """Whether both mean the same."""
        return self.degree >= MATCH_DEGREE


def label_from_json(value: object, where: str) -> Label:
    """A label from an object. Exactly one of ``text`` and ``span``, and of ``match`` and ``degree``; more is ignored.

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


def read_labels(path: Path) -> list[Label]:
    """The labels of a file: CSV with a first line that names the columns, else a JSON object a line.

    The columns of CSV are ``phrase``, ``text`` or ``document_id``, ``start`` and ``end``, ``match`` or ``degree``, and
    ``probability`` and ``stratum`` where they are known; an empty field is none.

    Raises ``LabelsRefused``, naming the line, for one that is no label.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise LabelsRefused(
            f"{path} cannot be read: {error}", hint="Give NDJSON or CSV, UTF-8.", field="labels"
        ) from error
    return list(_from_csv(text, path.name) if path.suffix == ".csv" else _from_ndjson(text, path.name))


def checked_labels(labels: Iterable[Label]) -> list[Label]:
    """Each label once.

    Raises ``LabelsRefused`` for contradictions, for fewer than 20, for one class only, and where some labels have a
    probability and others none.
    """
    first: dict[tuple[str, str | StoredSpan], Label] = {}
    for label in labels:
        known = first.setdefault((label.phrase, label.target), label)
        if known.degree != label.degree:
            told = f"it contradicts {known.where}, which labels the same differently"
            raise refused(label.where, told, hint="Take one of the two out, or both.")
    if len(first) < FEWEST:
        raise LabelsRefused(
            f"{len(first)} different labels are too few.", hint=f"Give at least {FEWEST}.", field="labels"
        )
    if len({label.probability is None for label in first.values()}) > 1:
        raise LabelsRefused(
            "Some labels have a probability, and others none.",
            hint="Learn from proposed candidates alone, or leave all probabilities out.",
            field="labels",
        )
    if len({label.is_match for label in first.values()}) == 1:
        raise LabelsRefused(
            "All labels are of one class.",
            hint=f"Label what matches and what does not; a degree of {MATCH_DEGREE:g} or more is a match.",
            field="labels",
        )
    return list(first.values())


def refused(where: str, reason: str, hint: str | None = None) -> LabelsRefused:
    """The error for one label; the usual hint shows what a label is like."""
    return LabelsRefused(f"{where} cannot be learned from: {reason}.", hint=hint or _HINT, field="labels")


def _from_ndjson(text: str, name: str) -> Iterator[Label]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            where = f"{name}:{number}"
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise refused(where, f"it is not JSON ({error})") from error
            yield label_from_json(value, where)


def _from_csv(text: str, name: str) -> Iterator[Label]:
    reader = csv.DictReader(StringIO(text, newline=""), strict=True)
    try:
        for row in reader:
            yield label_from_json(_row(row, f"{name}:{reader.line_num}"), f"{name}:{reader.line_num}")
    except csv.Error as error:
        # Only the inner reader has counted the line that it could not read.
        raise refused(f"{name}:{reader.reader.line_num}", f"it is not CSV ({error})") from error


def _row(row: Mapping[str | None, Any], where: str) -> dict[str, Any]:
    """The object that a line of CSV stands for. What has no column is under the key None."""
    if None in row:
        raise refused(where, "it has more fields than the first line")
    found: dict[str, Any] = {name: cell for name, cell in row.items() if name and cell not in ("", None)}
    if "document_id" in found:
        offsets = {name: _whole(found.get(name), name, where) for name in ("start", "end")}
        found["span"] = {"document_id": found["document_id"]} | offsets
    if "stratum" in found:
        found["stratum"] = _whole(found["stratum"], "stratum", where)
    if "match" in found:
        found["match"] = _YES_NO.get(found["match"].strip().lower(), found["match"])
    for name in {"degree", "probability"} & found.keys():
        try:
            found[name] = float(found[name])
        except ValueError:
            raise refused(where, f"{name} is {found[name]!r}, no number") from None
    return found


def _whole(cell: str | None, name: str, where: str) -> int:
    if cell is None or not cell.strip().isdecimal():
        raise refused(where, f"{name} is no whole number from 0 on")
    return int(cell)


def _text(value: object, name: str, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise refused(where, f"{name} is not a text with words in it")
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
        raise refused(where, "probability is not a number over 0, up to 1")
    return None if value is None else float(value)


def _stratum(given: Mapping[str, Any], where: str) -> int:
    value = given.get("stratum", 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise refused(where, "stratum is no whole number from 0 on")
    return value
