"""Files of labels and label candidates: NDJSON or CSV. Errors name the line of NDJSON, and the row of CSV."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from app.calibration.label_candidates import LabelCandidate, LabelCandidates
from app.calibration.labels import Label, LabelsRefused, label_from_json, refused
from indexer.ndjson import InvalidLine, read_ndjson
from indexer.sources.layout import detect_delimiter
from models.atomic import replacing
from models.errors import InvalidInput

# Characters that the delimiter is detected in.
_SAMPLE = 2**16
_COLUMNS = (
    "phrase",
    "says",
    "match",
    "context",
    "document_id",
    "start",
    "end",
    "score",
    "raw",
    "stratum",
    "probability",
    "exact",
)


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A line of NDJSON or a row of CSV. ``where`` names it in errors."""

    where: str
    values: dict[str, Any]

    @property
    def is_answered(self) -> bool:
        """True if the row has an answer."""
        return any(self.values.get(name) not in (None, "") for name in ("match", "degree"))

    @property
    def is_candidate(self) -> bool:
        """True for a row of ``spanseek labels propose``, which may lack an answer."""
        return self.values.get("probability") not in (None, "")


def read_labels(path: Path) -> list[Label]:
    """The labels of a file. Candidates without an answer are left out.

    The columns of CSV are ``phrase``, ``text`` or ``document_id``, ``start`` and ``end``, ``match`` or ``degree``, and
    optionally ``probability`` and ``stratum``; an empty field is ignored.

    Raises ``LabelsRefused`` for an invalid label, with its line, and for a file without any answer.
    """
    rows = read_label_rows(path)
    answered = [row for row in rows if row.is_answered or not row.is_candidate]
    if rows and not answered:
        raise LabelsRefused(
            f"None of the {len(rows):,} candidates in {path.name} is labelled.",
            hint=f"Label them with: spanseek label {path}",
            field="labels",
        )
    is_csv = path.suffix == ".csv"
    return [label_from_json(_cells(row) if is_csv else row.values, row.where, strict=not is_csv) for row in answered]


def read_label_rows(path: Path) -> list[LabelRow]:
    """The rows of a label file. Raises ``LabelsRefused`` for what is not NDJSON or CSV in UTF-8."""
    try:
        data = path.read_bytes()
        data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise LabelsRefused(
            f"{path} cannot be read: {error}", hint="Give NDJSON or CSV in UTF-8.", field="labels"
        ) from error
    return list(_csv_rows(data, path.name) if path.suffix == ".csv" else _ndjson_rows(data, path.name))


def write_label_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a label file, replacing it in one step: an interruption leaves the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as partial:
        partial.write_text(_as_csv(rows) if path.suffix == ".csv" else _as_ndjson(rows), "utf-8", newline="")


def check_label_file_name(path: Path) -> None:
    """Refuse a file name whose format cannot be read again."""
    if path.suffix not in (".csv", ".ndjson"):
        raise InvalidInput(
            f"Label candidates cannot be written as {path.name}.",
            hint="Give a name that ends in .csv or .ndjson.",
            field="out",
        )


def write_label_candidates(path: Path, candidates: LabelCandidates) -> None:
    """Write one row per candidate, without an answer in ``match``. An existing file is replaced."""
    rows = [_candidate_row(candidate) for candidate in candidates.candidates]
    if path.suffix == ".csv":
        rows = [{name: ({**row, **row["span"]}).get(name) for name in _COLUMNS} for row in rows]
    write_label_rows(path, rows)


def marked_context(candidate: LabelCandidate) -> str:
    """The context on one line, with the span in double brackets.

    >>> from app.calibration.label_candidates import CandidateSpan
    >>> span = CandidateSpan("a", 7, 11)
    >>> marked_context(LabelCandidate("late", span, "late", "is it\\nlate?", 6, 0.9, 0.9, 1, 0.5))
    'is it [[late]]?'
    """
    begin = candidate.context_start
    end = begin + len(candidate.says)
    before, after = candidate.context[:begin], candidate.context[end:]
    return _one_line(f"{before}[[{candidate.says}]]{after}")


def _candidate_row(candidate: LabelCandidate) -> dict[str, Any]:
    row = asdict(candidate) | {"says": _one_line(candidate.says), "context": marked_context(candidate), "match": None}
    for name in ("context_start", *(("exact",) if candidate.exact is None else ())):
        del row[name]
    return row


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _ndjson_rows(data: bytes, name: str) -> Iterator[LabelRow]:
    for number, value in read_ndjson(data.split(b"\n")):
        where = f"{name}:{number}"
        if isinstance(value, InvalidLine):
            raise refused(where, value.reason)
        if not isinstance(value, dict):
            raise refused(where, "it is not an object")
        yield LabelRow(where, value)


def _csv_rows(data: bytes, name: str) -> Iterator[LabelRow]:
    """Rows, with the first one as header. Numbered as in a spreadsheet: a cell may hold several lines.

    The delimiter is detected: spreadsheets write a semicolon where the comma is in numbers.
    """
    number, text = 0, data.decode("utf-8-sig")
    delimiter = detect_delimiter(text[:_SAMPLE])
    try:
        header: list[str] = []
        for number, cells in enumerate(csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True), 1):
            if number == 1:
                header = cells
            elif len(cells) > len(header):
                raise refused(f"{name}, row {number}", "it has more fields than the first row")
            elif cells:
                yield LabelRow(f"{name}, row {number}", dict(zip(header, cells, strict=False)))
    except csv.Error as error:
        raise refused(f"{name}, row {number + 1}", f"not valid CSV: {error}") from error


def _cells(row: LabelRow) -> dict[str, Any]:
    """The object for a row of CSV: empty cells are left out."""
    values = {name: cell for name, cell in row.values.items() if name and cell not in ("", None)}
    if "document_id" in values:
        values["span"] = {name: values.get(name) for name in ("document_id", "start", "end")}
    if "match" in values:
        values["match"] = values["match"].strip()
    return values


def _as_ndjson(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    file = StringIO(newline="")
    columns = dict.fromkeys(name for row in rows for name in row) or dict.fromkeys(_COLUMNS)
    writer = csv.DictWriter(file, list(columns))
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()
