"""Numbers of lists and headings of OpenDocument, which programs compute and do not store: ``2.1``, ``(a)``, ``IV.``."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from spanseek_files.packages import Element, attribute, tag
from spanseek_files.word.numbering import formatted

_FORMS: Final = {
    "1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman",
}  # fmt: skip
_NUMBERED: Final = ("text:list-level-style-number", "text:outline-level-style")

# The levels of a list's style, from 1, that are numbered.
_Levels: TypeAlias = dict[int, Element]


@dataclass(slots=True)
class _List:
    """A list that is read: the levels of its style, and how far each has counted."""

    levels: _Levels
    counts: dict[int, int] = field(default_factory=dict)

    def count(self, level: int, start: str | None = None) -> str:
        """The number of the next item of a level, whose deeper levels begin anew."""
        style = self.levels.get(level)
        first = int((style is not None and attribute(style, "start-value")) or 1)
        self.counts[level] = int(start) if start else self.counts.get(level, first - 1) + 1
        for below in [each for each in self.counts if each > level]:
            del self.counts[below]
        return "" if style is None else self._label(style, level)

    def _label(self, style: Element, level: int) -> str:
        if not attribute(style, "num-format"):
            return ""
        first = level + 1 - int(attribute(style, "display-levels") or 1)
        numbers = [self._number(each) for each in range(max(first, 1), level + 1)]
        shown = ".".join(filter(None, numbers))
        return f"{attribute(style, 'num-prefix') or ''}{shown}{attribute(style, 'num-suffix') or ''}".strip()

    def _number(self, level: int) -> str:
        style = self.levels.get(level)
        form = _FORMS.get(attribute(style, "num-format") or "") if style is not None else None
        return formatted(self.counts.get(level, 1), form) if form else ""


class Lists:
    """The lists of a file while it is read."""

    def __init__(self, roots: Iterable[Element]) -> None:
        self._styles: dict[str, _Levels] = {}
        self._headings = _List({})
        self._open: list[_List] = []
        self._last: dict[str, _List] = {}
        self._item: Element | None = None
        for each in (style for root in roots for style in root.iter()):
            if tag(each) == "text:list-style":
                self._styles[attribute(each, "name") or ""] = _levels(each)
            elif tag(each) == "text:outline-style":
                self._headings = _List(_levels(each))

    @contextmanager
    def within(self, element: Element) -> Iterator[None]:
        """Read a list, or one within another, which counts a level of the outer one unless it has its own style."""
        name, xml_id = attribute(element, "style-name") or "", attribute(element, "id")
        continued = attribute(element, "continue-list")
        outer = self._open[-1] if self._open else None
        if outer is not None and (not name or self._styles.get(name) is outer.levels):
            found = outer
        elif continued in self._last or attribute(element, "continue-numbering") == "true":
            found = self._last.get(continued or name) or _List(self._styles.get(name, {}))
        else:
            found = _List(self._styles.get(name, {}))
        self._last |= {each: found for each in (name, xml_id) if each}
        self._open.append(found)
        yield
        self._open.pop()

    def begin(self, item: Element) -> None:
        """Let the next paragraph be the first of an item."""
        self._item = item if tag(item) == "text:list-item" else None

    def label(self, paragraph: Element) -> str:
        """The number that stands before a paragraph; empty for bullets, and for further paragraphs of an item."""
        item, self._item = self._item, None
        if item is not None and self._open:
            return self._open[-1].count(len(self._open), attribute(item, "start-value"))
        if tag(paragraph) == "text:h" and not self._open and attribute(paragraph, "is-list-header") != "true":
            return self._headings.count(int(attribute(paragraph, "outline-level") or 1))
        return ""


def _levels(style: Element) -> _Levels:
    return {int(attribute(each, "level") or 1): each for each in style if tag(each) in _NUMBERED}
