"""The tree of a page, in which elements end where browsers end them: many need no end tag."""

from typing import Any, Final

from bs4 import BeautifulSoup
from bs4.element import Tag

_CELLS: Final = "caption colgroup td th"
_ROWS: Final = f"{_CELLS} tr"
_GROUPS: Final = f"{_ROWS} tbody tfoot thead"
_BLOCKS: Final = """
    address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure footer form h1 h2
    h3 h4 h5 h6 header hgroup hr li main menu nav ol p pre search section summary table ul
"""
# What the start of an element ends.
_ENDED: Final = {
    **dict.fromkeys(_BLOCKS.split(), ("p",)),
    "li": ("p", "li"),
    **dict.fromkeys(("dd", "dt"), ("p", "dd", "dt")),
    "option": ("option",),
    "optgroup": ("option", "optgroup"),
    **dict.fromkeys(("rb", "rp", "rt", "rtc"), ("rb", "rp", "rt")),
    **dict.fromkeys(("colgroup", "td", "th"), tuple(_CELLS.split())),
    "tr": tuple(_ROWS.split()),
    **dict.fromkeys(("tbody", "tfoot", "thead"), tuple(_GROUPS.split())),
}
_ENDING: Final = frozenset(name for names in _ENDED.values() for name in names)
# Those around an element that the starts within it do not end.
_KEPT: Final = {
    "table": _ENDING,
    "template": _ENDING,
    **dict.fromkeys(("button", "caption", "marquee", "object", "td", "th"), frozenset({"p"})),
    **dict.fromkeys(("dir", "menu", "ol", "ul"), frozenset({"li"})),
    "dl": frozenset({"dd", "dt"}),
    **dict.fromkeys(("datalist", "select"), frozenset({"option", "optgroup"})),
    "ruby": frozenset({"rb", "rp", "rt"}),
}


class PageTree(BeautifulSoup):
    """A page whose elements end without their end tags, too.

    >>> PageTree("<ul><li hidden>one<li>two</ul>", "html.parser").find_all("li")
    [<li hidden="">one</li>, <li>two</li>]
    """

    def reset(self) -> None:
        """Begin without open elements."""
        # For every open element the names that a start within it may end. Not looked up: pages nest deeply.
        self._open: list[frozenset[str]] = []
        super().reset()

    def handle_starttag(self, name: str, *rest: Any, **others: Any) -> Tag | None:  # noqa: ANN401
        """Begin an element, and end those that it ends."""
        for ended in _ENDED.get(name, ()):
            if ended in self._open[-1]:
                self.handle_endtag(ended)
        return super().handle_starttag(name, *rest, **others)

    def pushTag(self, tag: Tag) -> None:  # noqa: N802 - a name of bs4
        """Open an element."""
        names = self._open[-1] if self._open else frozenset()
        kept, own = _KEPT.get(tag.name), _ENDING & {tag.name}
        self._open.append((names - (kept or frozenset())) | own if kept or own else names)
        super().pushTag(tag)

    def _linkage_fixer(self, el: Tag) -> None:
        """Do nothing: what is parsed in order needs no repair, for which bs4 climbs to the root at every text."""

    def popTag(self) -> Tag | None:  # noqa: N802
        """Close the innermost element."""
        self._open.pop()
        return super().popTag()
