"""HTML: the text that a browser would show, with a line a block."""

import re
from collections.abc import Iterator
from typing import Final

from bs4 import BeautifulSoup
from bs4.dammit import EncodingDetector
from bs4.element import NavigableString, PageElement, PreformattedString, RubyTextString, Tag

from indexer.errors import InvalidDocument
from indexer.sources.documents import checked_id, checked_metadata, checked_text
from indexer.sources.encodings import decoded, errors_of, labelled_codec
from indexer.sources.records import Found, Reading
from models.types import Document, JsonValue, Part

_HIDDEN_NAMES: Final = """
    annotation annotation-xml area audio canvas datalist desc head iframe metadata noframes noscript object rp script
    style template title video
"""
_HIDDEN: Final = frozenset(_HIDDEN_NAMES.split())
_INLINE_NAMES: Final = """
    a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark q rb rt rtc ruby s samp small
    span strike strong sub sup time tspan tt u var wbr
"""
# A page that says so is read as ASCII first, so it is no UTF-16.
_UTF_16: Final = ("utf-16", "utf-16le", "utf-16be")
_NOT_SHOWN: Final = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))", re.IGNORECASE)
# Rules of one class, id or name, outside of ``@media`` and the like.
_AT_RULE: Final = re.compile(r"@[^{};]*(?:;|\{(?:[^{}]*\{[^{}]*\})*[^{}]*\})")
_RULE: Final = re.compile(r"([^{}]+)\{([^{}]*)\}")
_SELECTOR: Final = re.compile(r"[.#]?-?[A-Za-z_][\w-]*")
_FIELDS: Final = ("text", "search", "email", "url", "tel", "number", "submit", "button", "date")
_INLINE: Final = frozenset(_INLINE_NAMES.split())
_SPACE: Final = re.compile(r"\s+")
_OPEN_TAG: Final = re.compile(r"<[A-Za-z][^<>]*")
_MAX_TAGS: Final = 600_000
_MAX_ATTRIBUTES: Final = 400_000


def read_page(reading: Reading) -> Iterator[Found]:
    """A page is one document, with its title as metadata."""
    yield 1, lambda: _document(reading)


def _document(reading: Reading) -> Document:
    page = parsed_page(_decoded(reading))
    title = _SPACE.sub(" ", page.title.get_text()).strip() if page.title else ""
    metadata: dict[str, JsonValue] = {"title": title} if title else {}
    text = checked_text(page_text(page))
    return Document(checked_id(reading.document_id), (Part(text),), checked_metadata(metadata))


def parsed_page(text: str | bytes) -> BeautifulSoup:
    """A page as a tree.

    Raises ``InvalidDocument`` for one of too many tags or attributes: every element takes a kilobyte.
    """
    markup = text if isinstance(text, str) else text.decode("latin-1")
    if markup.count("<") > _MAX_TAGS:
        raise InvalidDocument(f"a page has more than {_MAX_TAGS:,} tags")
    if sum(tag.group().count("=") for tag in _OPEN_TAG.finditer(markup)) > _MAX_ATTRIBUTES:
        raise InvalidDocument(f"a page has more than {_MAX_ATTRIBUTES:,} attributes")
    return BeautifulSoup(text, "html.parser")


def _decoded(reading: Reading) -> str:
    """The page in the encoding that is given, that its first bytes or itself declare, or that its bytes are of."""
    data = reading.whole()
    start, marked = EncodingDetector.strip_byte_order_mark(data)
    declared = EncodingDetector.find_declared_encoding(start, is_html=True)
    declared = "utf-8" if declared in _UTF_16 else declared
    named = reading.options.encoding or marked or (declared and labelled_codec(declared))
    if named:
        return start.decode(named, errors_of(named, "replace"))
    text, encoding = decoded(data)
    if encoding.codec != "utf-8-sig":
        reading.notice = f"no encoding is declared: read as {encoding}"
    return text


def page_text(page: Tag) -> str:
    """The text of a page: white space as a browser shows it, a line break between blocks.

    >>> page_text(BeautifulSoup("<p>One <b>two</b></p><ul><li>three<li hidden>four</ul>", "html.parser"))
    'One two\\nthree'
    """
    pieces: list[str] = []
    for element, is_end in _walk(page, _hidden_selectors(page)):
        if isinstance(element, Tag):
            pieces.append(_around(element, is_end=is_end))
        elif not is_end and type(element) in (NavigableString, RubyTextString):
            is_preformatted = element.find_parent("pre") is not None
            pieces.append(str(element) if is_preformatted else _SPACE.sub(" ", str(element)))
    lines = (re.sub(r"[ \t]+", " ", line).strip() for line in "".join(pieces).split("\n"))
    return "\n".join(line for line in lines if line)


def _around(element: Tag, *, is_end: bool) -> str:
    """The text that the start or the end of an element adds."""
    if element.name == "rt":
        return ")" if is_end else "("
    if element.name == "input":
        is_shown = not is_end and str(element.get("type", "text")).lower() in _FIELDS
        return f" {element.get('value', '')} " if is_shown else ""
    return "" if element.name in _INLINE else "\n"


def _walk(root: Tag, hidden: frozenset[str]) -> Iterator[tuple[PageElement, bool]]:
    """The elements in the order of the page, tags at their start and at their end. Not recursive: pages nest deeply."""
    stack: list[tuple[PageElement, bool]] = [(root, False)]
    while stack:
        element, is_end = stack.pop()
        yield element, is_end
        if isinstance(element, Tag) and not is_end:
            stack.append((element, True))
            stack.extend(
                (child, False)
                for child in reversed(element.contents)
                if not isinstance(child, PreformattedString)
                and not (isinstance(child, Tag) and _is_hidden(child, hidden))
            )


def _is_hidden(element: Tag, hidden: frozenset[str]) -> bool:
    """True if a browser shows nothing of an element."""
    if element.name in _HIDDEN or (element.name == "dialog" and not element.has_attr("open")):
        return True
    if str(element.get("hidden", "until-found")).lower() != "until-found":
        return True
    if _NOT_SHOWN.search(str(element.get("style", ""))):
        return True
    names = {element.name, f"#{element.get('id')}", *(f".{each}" for each in element.get_attribute_list("class"))}
    return not hidden.isdisjoint(names)


def _hidden_selectors(page: Tag) -> frozenset[str]:
    """The classes, ids and names that the page's own style sheets hide."""
    found: set[str] = set()
    for sheet in page.find_all("style"):
        for selectors, body in _RULE.findall(_AT_RULE.sub("", sheet.get_text())):
            if _NOT_SHOWN.search(body):
                found.update(each.strip() for each in selectors.split(",") if _SELECTOR.fullmatch(each.strip()))
    return frozenset(found)
