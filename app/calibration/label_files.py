"""Label candidates as files that people fill in, and ``app.calibration.labels`` reads."""

import csv
import json
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import Any

from app.calibration.label_candidates import LabelCandidates
from models.errors import InvalidInput

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
)


def check_label_file_name(path: Path) -> None:
    """Refuse, before anything is computed, a file that would not be read again."""
    if path.suffix not in (".csv", ".ndjson"):
        raise InvalidInput(
            f"Label candidates cannot be written as {path.name}.",
            hint="Give a name that ends in .csv or .ndjson.",
            field="out",
        )


def write_label_candidates(path: Path, found: LabelCandidates) -> None:
    """A line each; ``match`` is left for whoever labels it. What the file holds is replaced."""
    rows = [asdict(candidate) | {"match": None} for candidate in found.candidates]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_csv(rows) if path.suffix == ".csv" else _ndjson(rows), "utf-8", newline="")


def _ndjson(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _csv(rows: list[dict[str, Any]]) -> str:
    file = StringIO(newline="")
    writer = csv.DictWriter(file, _COLUMNS, extrasaction="ignore")
    writer.writeheader()
    for row in rows:
        writer.writerow(row | row["span"])
    return file.getvalue()
