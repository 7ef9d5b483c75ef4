"""Styles of a Word file: what is hidden by them, which are headings, and which are numbered."""

import re
from dataclasses import dataclass
from typing import Final

from spanseek_files.packages import Element, attribute, child, is_on, tag

_HEADING: Final = re.compile(r"heading (\d)", re.IGNORECASE)
_BODY_LEVEL: Final = 9


@dataclass(frozen=True, slots=True)
class Numbered:
    """The list and the level of a paragraph; ``level`` is None where the list knows it by the paragraph's style."""

    list_id: str
    level: int | None


def numbered(properties: Element | None) -> Numbered | None:
    """The numbering that the properties of a paragraph name, if they do."""
    found = None if properties is None else child(properties, "w:numPr")
    if found is None:
        return None
    list_id, level = child(found, "w:numId"), child(found, "w:ilvl")
    number = _number(level)
    return None if list_id is None and level is None else Numbered(_value(list_id) or "", number)


class Styles:
    """The styles of a file by their ids. A style has what the style has that it is based on."""

    def __init__(self, root: Element | None) -> None:
        found = [] if root is None else [each for each in root if tag(each) == "w:style"]
        self._styles = {attribute(each, "styleId") or "": each for each in found}
        defaults = (each for each in found if attribute(each, "default") in ("1", "true", "on"))
        self._default = next(
            (attribute(each, "styleId") for each in defaults if attribute(each, "type") == "paragraph"), None
        )

    def of(self, properties: Element | None) -> str:
        """The id of the style of a paragraph or a run, from its properties; of the default one if it names none."""
        named = None if properties is None else child(properties, "w:pStyle")
        return _value(named) or self._default or ""

    def hides(self, style: str) -> bool:
        """True if a style hides its text."""
        return any(is_on(found) for found in self._first(style, "w:rPr", "w:vanish"))

    def level(self, style: str) -> int | None:
        """The outline level of a style, from 0, if its paragraphs are headings."""
        for found in self._first(style, "w:pPr", "w:outlineLvl"):
            return heading_level(found)
        for each in self._chain(style):
            match = _HEADING.fullmatch(_value(child(each, "w:name")) or "")
            if match:
                return int(match[1]) - 1
        return None

    def numbered(self, style: str) -> tuple[Numbered, str] | None:
        """The numbering of a style, and the style that names it."""
        for each in self._chain(style):
            found = numbered(child(each, "w:pPr"))
            if found is not None and found.list_id:
                return found, attribute(each, "styleId") or ""
        return None

    def _first(self, style: str, *path: str) -> list[Element]:
        """The property of the nearest style that has it, or nothing."""
        for each in self._chain(style):
            found = child(each, *path)
            if found is not None:
                return [found]
        return []

    def _chain(self, style: str) -> list[Element]:
        """A style and those it is based on, nearest first."""
        chain: dict[str, Element] = {}
        while style in self._styles and style not in chain:
            chain[style] = self._styles[style]
            style = _value(child(chain[style], "w:basedOn")) or ""
        return list(chain.values())


def heading_level(found: Element) -> int | None:
    """The level of ``w:outlineLvl``; body text has none."""
    level = _number(found)
    return level if level is not None and 0 <= level < _BODY_LEVEL else None


def _value(element: Element | None) -> str | None:
    return None if element is None else attribute(element, "val")


def _number(element: Element | None) -> int | None:
    value = _value(element) or ""
    return int(value) if value.isdecimal() else None
