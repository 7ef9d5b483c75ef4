"""The best span of every text of contrast lines, as a search would mark it; kept in a file: it takes minutes."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from app.services import make_encoders
from app.settings import Settings
from app.texts.requests import SpansRequest
from app.texts.spans import SpanService
from models.types import CharSpan, Document, Part
from research.training.contrast_data import ContrastLine, read_contrast

Marks = dict[str, list[CharSpan | None]]


def contrast_marks(settings: Settings, path: Path) -> Marks:
    """The marks of the four texts of every line that was written for the project, by the lines' ids."""
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        with partial.open("w", encoding="utf-8") as file:
            for id, marks in best_spans(settings, read_contrast()):
                row = [None if mark is None else [mark.start, mark.end] for mark in marks]
                file.write(json.dumps({"id": id, "marks": row}) + "\n")
        partial.replace(path)
    rows = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    return {row["id"]: [None if mark is None else CharSpan(*mark) for mark in row["marks"]] for row in rows}


def best_spans(settings: Settings, lines: Iterable[ContrastLine]) -> Iterator[tuple[str, list[CharSpan | None]]]:
    """Every line's id, and the best span of each of its texts for its phrase; None for a text without one."""
    service = SpanService.by(make_encoders(settings), settings.encoder)
    for line in lines:
        texts = tuple(Document(str(number), (Part(text),)) for number, (text, _) in enumerate(line.pairs))
        answer = service.find(SpansRequest(phrases=(line.phrase,), texts=texts, limit=1, verify=0))
        marks = [each.hits[0] if each.hits else None for each in answer.results]
        yield line.id, [None if hit is None else CharSpan(hit.start, hit.end) for hit in marks]
