"""Running heads, running feet and page numbers: what stands at one place of many pages."""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from spanseek_files.pdf.geometry import Segment, rows

_ZONE: Final = 0.12
_LINES: Final = 3
_NUMBER: Final = re.compile(r"\d+|\b[ivxlcIVXLC]+\b")
_PAGE: Final = re.compile(r"(?:page|seite|pag|p|pp|of|von|de|[\W_])*#(?:of|von|de|[\W_]|#)*")
_LEAST: Final = 3
_NEAR: Final = 12.0


def furniture(pages: Sequence[tuple[tuple[float, float, float, float], Sequence[Segment]]]) -> dict[int, str]:
    """The kinds of the segments that are furniture, by their ``id``: ``header``, ``footer`` or ``page number``.

    ``pages`` are boxes and segments. Furniture is a row that has the same text, except for numbers, at the same height
    of at least three pages, or of both pages if there are two.
    """
    places: dict[tuple[str, str], list[tuple[int, float, list[Segment]]]] = defaultdict(list)
    for number, (box, segments) in enumerate(pages):
        for zone, row in _edges(box, segments):
            text = _NUMBER.sub("#", " ".join(segment.text for segment in row)).lower()
            places[zone, text].append((number, row[0].middle, row))
    least = _LEAST if len(pages) > 2 else 2
    found: dict[int, str] = {}
    for (zone, text), same in places.items():
        for _, height, row in same:
            near = {page for page, other, _ in same if abs(other - height) < _NEAR}
            if len(near) >= least:
                kind = "page number" if _PAGE.fullmatch(text) else zone
                found.update((id(segment), kind) for segment in row)
    return found


def _edges(box: tuple[float, float, float, float], segments: Sequence[Segment]) -> list[tuple[str, list[Segment]]]:
    """The first and the last rows of a page that stand near its edges."""
    _, bottom, _, top = box
    zone = _ZONE * (top - bottom)
    of_page = rows(segments)
    heads = [("header", row) for row in of_page[:_LINES] if row[0].middle > top - zone]
    feet = [("footer", row) for row in of_page[-_LINES:] if row[0].middle < bottom + zone]
    return heads + feet
