"""Style sheets of a page, as far as they hide elements. An element is hidden only where that is certain."""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from bs4.element import Tag

# Comments and strings, in which the signs of the syntax mean nothing.
_APART: Final = re.compile(
    r"""/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?""",
    re.DOTALL,
)
_STEP: Final = re.compile(r"([^{};]*)([{};])")
_DECLARATION: Final = re.compile(r"\s*(display|visibility)\s*:([^!]*)(!\s*important\s*)?", re.IGNORECASE)
_HIDING: Final = frozenset({("display", "none"), ("visibility", "hidden"), ("visibility", "collapse")})
_PRINT: Final = re.compile(r"@media\s+print\b[^,]*", re.IGNORECASE)
# Elements that are not at rest, and what is put before or after an element.
_NOT_AT_REST: Final = re.compile(r"(?<!\():(?:hover|focus|active|target|before|after)|::")
_WORD: Final = r"[.#]?-?(?:[^\W\d]|\\.)(?:[\w-]|\\.)*"
_NAME: Final = re.compile(rf"\[\s*(?P<attribute>[\w-]+)[^\[\]]*\]|{_WORD}")
_SIMPLE: Final = re.compile(rf"\[hidden\]|{_WORD}")
_NEGATED: Final = re.compile(r":not\([^()]*\)")
_COMBINED: Final = re.compile(r"[\s>+~]+")
# The rules around a declaration that are looked at.
_DEEPEST: Final = 4
# The characters of selectors before declarations that are read; of sheets with more no rule is certain.
_MOST: Final = 4_000_000
# The strengths of declarations: of browsers, of names, of classes, of ids, of rules that may apply, of the element.
_BROWSER, _OF_NAME, _OF_CLASS, _OF_ID, _DOUBTFUL, _OWN = range(6)


class _Declared(NamedTuple):
    """A declaration by its strength: the greatest of an element applies."""

    is_important: bool
    strength: int
    order: int
    hides: bool


class StyleSheets:
    """The display of elements by the sheets of a page, by their own ``style``, and by the rules of browsers."""

    def __init__(self, sheets: Iterable[Tag] = ()) -> None:
        self._rules: dict[tuple[str, str], _Declared] = {}
        self._characters = 0
        for sheet in sheets:
            if str(sheet.get("type") or "text/css").strip().lower() == "text/css":
                self._read(sheet)
        if self._characters > _MOST:
            self._rules.clear()

    def hides(self, element: Tag) -> bool:
        """True if an element is certainly not shown."""
        found: dict[str, list[_Declared]] = {"display": [], "visibility": []}
        for key, declared in self._declared(element):
            found[key].append(declared)
        return any(max(declared).hides for declared in found.values() if declared)

    def _declared(self, element: Tag) -> Iterator[tuple[str, _Declared]]:
        """All that is declared of an element, with its properties."""
        is_closed = element.name == "dialog" and not element.has_attr("open")
        if is_closed or str(element.get("hidden", "until-found")).lower() != "until-found":
            yield "display", _Declared(is_important=False, strength=_BROWSER, order=0, hides=True)
        for order, text in enumerate(str(element.get("style", "")).split(";")):
            if match := _DECLARATION.fullmatch(text):
                yield _declaration(match, _OWN, order)
        if self._rules:
            classes = [f".{each}" for each in element.get_attribute_list("class")]
            names = [element.name, f"#{element.get('id')}", *classes, *(f"[{each}]" for each in element.attrs)]
            keys = ((each, name) for each in ("display", "visibility") for name in names)
            yield from ((key[0], self._rules[key]) for key in keys if key in self._rules)

    def _read(self, sheet: Tag) -> None:
        text = _APART.sub("", sheet.get_text())
        media = str(sheet.get("media") or "all").strip()
        if media.lower() not in ("all", "screen"):
            text = f"@media {media}{{{text}}}"
        around: list[str] = []
        for before, sign in _STEP.findall(f"{text}}}"):
            if sign == "{":
                around.append(before.strip())
                continue
            if self._characters <= _MOST and (match := _DECLARATION.fullmatch(before)):
                self._declare(match, around[-_DEEPEST:])
            if sign == "}" and around:
                around.pop()

    def _declare(self, match: re.Match[str], around: list[str]) -> None:
        """Keep a declaration for all that the rules around it name, if it is the strongest."""
        self._characters += sum(map(len, around))
        if any(_PRINT.fullmatch(each) for each in around):
            return
        is_plain = len(around) == 1
        for selector in (one.strip() for each in around if not each.startswith("@") for one in each.split(",")):
            is_simple = is_plain and _SIMPLE.fullmatch(selector) is not None
            key, declared = _declaration(match, _strength(selector) if is_simple else _DOUBTFUL, self._characters)
            if is_simple or not declared.hides:
                for name in _names(selector):
                    self._rules[key, name] = max(self._rules.get((key, name), declared), declared)


def _declaration(match: re.Match[str], strength: int, order: int) -> tuple[str, _Declared]:
    """The property of a declaration, and what it says."""
    key = match[1].lower()
    return key, _Declared(match[3] is not None, strength, order, hides=(key, match[2].strip().lower()) in _HIDING)


def _strength(selector: str) -> int:
    return _OF_ID if selector.startswith("#") else _OF_CLASS if selector[0] in ".[" else _OF_NAME


def _names(selector: str) -> Iterator[str]:
    """The names, classes, ids and attributes of the elements that a selector means, as far as they are at rest.

    >>> list(_names("nav > A.open[title=x]:not(.old)")), list(_names(".menu:hover"))
    (['a', '.open', '[title]'], [])
    """
    if _NOT_AT_REST.search(selector):
        return
    selector = _NEGATED.sub("", selector)
    for match in _NAME.finditer(selector if "(" in selector else _COMBINED.split(selector)[-1]):
        name = match[0].replace("\\", "")
        yield f"[{match['attribute']}]".lower() if match["attribute"] else name if name[0] in ".#" else name.lower()
