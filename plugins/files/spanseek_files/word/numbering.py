"""Numbers of lists and clauses, which Word computes and does not store: ``7.2``, ``(a)``, ``Article IV``."""

import re
from collections import defaultdict
from typing import Final

from spanseek_files.packages import Element, attribute, child, is_on, tag
from spanseek_files.word.styles import Numbered, Styles

_PLACE: Final = re.compile(r"%([1-9])")
_ROMAN: Final = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
    (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_LARGEST: Final = 3_999


class Numbering:
    """The lists of a file, and how far each of them has counted."""

    def __init__(self, root: Element | None, styles: Styles) -> None:
        children = [] if root is None else list(root)
        self._abstract = {attribute(each, "abstractNumId"): each for each in children if tag(each) == "w:abstractNum"}
        self._lists = {attribute(each, "numId"): each for each in children if tag(each) == "w:num"}
        self._styles = styles
        self._counts: dict[str, dict[int, int]] = defaultdict(dict)
        self._begun: set[tuple[str, int]] = set()

    def label(self, place: Numbered, style: str) -> str:
        """The number of the next paragraph of a list, as Word shows it; empty for bullets."""
        abstract_id, abstract = self._resolved(place.list_id)
        if abstract is None:
            return ""
        levels = {int(attribute(each, "ilvl") or 0): each for each in abstract if tag(each) == "w:lvl"}
        level = place.level if place.level is not None else _level_of(levels, style)
        levels |= self._overrides(place.list_id)
        if level not in levels:
            return ""
        counts = self._count(abstract_id, place.list_id, level, levels)
        return _label(levels, level, counts)

    def _resolved(self, list_id: str, hops: int = 0) -> tuple[str, Element | None]:
        found = self._lists.get(list_id)
        link = None if found is None else child(found, "w:abstractNumId")
        abstract_id = "" if link is None else attribute(link, "val") or ""
        abstract = self._abstract.get(abstract_id)
        style = None if abstract is None else child(abstract, "w:numStyleLink")
        linked = None if style is None else self._styles.numbered(attribute(style, "val") or "")
        return (
            self._resolved(linked[0].list_id, hops + 1)
            if linked and hops < len(self._lists)
            else (abstract_id, abstract)
        )

    def _overrides(self, list_id: str) -> dict[int, Element]:
        found: dict[int, Element] = {}
        for each in self._lists.get(list_id, ()):
            level = child(each, "w:lvl")
            if level is not None:
                found[int(attribute(each, "ilvl") or 0)] = level
        return found

    def _count(self, abstract_id: str, list_id: str, level: int, levels: dict[int, Element]) -> dict[int, int]:
        """Count one paragraph of a list, in which deeper levels begin anew."""
        counts = self._counts[abstract_id]
        begun = (list_id, level)
        if begun not in self._begun:
            self._begun.add(begun)
            start = self._start_override(list_id, level)
            if start is not None:
                counts[level] = start - 1
        for above in range(level):
            counts.setdefault(above, _start(levels.get(above)))
        counts[level] = counts.get(level, _start(levels[level]) - 1) + 1
        for below in [each for each in counts if each > level and _restarts(levels.get(each), level)]:
            del counts[below]
        return counts

    def _start_override(self, list_id: str, level: int) -> int | None:
        for each in self._lists.get(list_id, ()):
            start = child(each, "w:startOverride")
            if start is not None and attribute(each, "ilvl") == str(level):
                return int(attribute(start, "val") or 1)
        return None


def _level_of(levels: dict[int, Element], style: str) -> int:
    for level, each in levels.items():
        named = child(each, "w:pStyle")
        if named is not None and attribute(named, "val") == style:
            return level
    return 0


def _start(level: Element | None) -> int:
    start = None if level is None else child(level, "w:start")
    return 0 if start is None else int(attribute(start, "val") or 0)


def _restarts(level: Element | None, counted: int) -> bool:
    """True if a level begins anew after a paragraph of a level above; ``w:lvlRestart`` names the one it needs."""
    after = None if level is None else child(level, "w:lvlRestart")
    return after is None or counted < int(attribute(after, "val") or 0)


def _format(level: Element | None) -> str:
    found = None if level is None else child(level, "w:numFmt")
    return "decimal" if found is None else attribute(found, "val") or "decimal"


def _label(levels: dict[int, Element], level: int, counts: dict[int, int]) -> str:
    text = child(levels[level], "w:lvlText")
    if text is None or _format(levels[level]) == "bullet":
        return ""
    is_legal = is_on(child(levels[level], "w:isLgl"))

    def number(match: re.Match[str]) -> str:
        at = int(match[1]) - 1
        return formatted(counts.get(at, 0), "decimal" if is_legal else _format(levels.get(at)))

    return _PLACE.sub(number, attribute(text, "val") or "").strip()


def formatted(number: int, form: str) -> str:
    """A number in one of Word's formats; decimal in formats of other scripts.

    >>> [formatted(4, form) for form in ("upperRoman", "lowerLetter", "decimalZero", "ordinal", "none")]
    ['IV', 'd', '04', '4th', '']
    """
    if form in ("none", "bullet"):
        return ""
    if form in ("upperRoman", "lowerRoman") and 0 < number <= _LARGEST:
        return _cased(_roman(number), form)
    if form in ("upperLetter", "lowerLetter") and number > 0:
        return _cased(chr(ord("a") + (number - 1) % 26) * min((number - 1) // 26 + 1, 10), form)
    if form == "ordinal":
        return f"{number}{'th' if number % 100 in (11, 12, 13) else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
    return f"{number:02}" if form == "decimalZero" else str(number)


def _cased(text: str, form: str) -> str:
    return text.upper() if form.startswith("upper") else text


def _roman(number: int) -> str:
    signs = ""
    for value, sign in _ROMAN:
        signs += sign * (number // value)
        number %= value
    return signs
