"""Zipped packages of XML, such as Office files: their parts, within bounds that no bomb exceeds.

Names of elements are short ones, ``w:p``, whichever of the two families of namespaces a file is written in: ECMA-376
has one for "transitional" files and one for "strict" files.
"""

import io
import posixpath
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

from indexer.errors import InvalidDocument

# An element of lxml, which has no types of its own.
Element: TypeAlias = Any

MAX_PART: Final = 64 * 2**20
MAX_READ: Final = 256 * 2**20
MAX_ENTRIES: Final = 20_000
# A tree takes about 150 bytes for every tag and attribute.
MAX_MARKS: Final = 2_500_000
_LOOKED_AT: Final = 5_000
_TEXTS: Final = ("w:t", "a:t", "w:txbxContent", "dgm:relIds", "c:chart", "cx:chart", "m:t")
_COMPOUND: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_OPEN: Final = "http://schemas.openxmlformats.org/"
_STRICT: Final = "http://purl.oclc.org/ooxml/"
_PREFIXES: Final = {
    **{
        f"{base}{path}": prefix
        for prefix, both in {
            "w": ("wordprocessingml/2006/main", "wordprocessingml/main"),
            "m": ("officeDocument/2006/math", "officeDocument/math"),
            "a": ("drawingml/2006/main", "drawingml/main"),
            "c": ("drawingml/2006/chart", "drawingml/chart"),
            "dgm": ("drawingml/2006/diagram", "drawingml/diagram"),
            "p": ("presentationml/2006/main", "presentationml/main"),
            "x": ("spreadsheetml/2006/main", "spreadsheetml/main"),
        }.items()
        for base, path in zip((_OPEN, _STRICT), both, strict=True)
    },
    f"{_OPEN}markup-compatibility/2006": "mc",
    f"{_OPEN}package/2006/relationships": "rel",
    "http://schemas.microsoft.com/office/drawing/2014/chartex": "cx",
    "http://schemas.microsoft.com/office/powerpoint/2018/8/main": "p188",
    "urn:schemas-microsoft-com:vml": "v",
    "urn:schemas-microsoft-com:office:office": "o",
    "http://schemas.microsoft.com/office/word/2010/wordml": "w14",
    "http://schemas.microsoft.com/office/drawing/2008/diagram": "dsp",
    "http://purl.org/dc/elements/1.1/": "dc",
    "urn:oasis:names:tc:opendocument:xmlns:text:1.0": "text",
    "urn:oasis:names:tc:opendocument:xmlns:table:1.0": "table",
    "urn:oasis:names:tc:opendocument:xmlns:office:1.0": "office",
    "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0": "draw",
    "urn:oasis:names:tc:opendocument:xmlns:presentation:1.0": "presentation",
    "urn:oasis:names:tc:opendocument:xmlns:style:1.0": "style",
    "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0": "svg",
    "urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0": "fo",
    "http://www.idpf.org/2007/opf": "opf",
    "urn:oasis:names:tc:opendocument:xmlns:container": "container",
}


@dataclass(frozen=True, slots=True)
class Relation:
    """A link from one part of a package to another, or out of it."""

    kind: str
    target: str
    is_external: bool


class Package:
    """The parts of a zipped file by their names, in any case.

    Raises ``InvalidDocument`` for what is no zip, for encrypted files, and for what would grow beyond all measure.
    """

    def __init__(self, data: bytes) -> None:
        if data.startswith(_COMPOUND):
            raise InvalidDocument(
                "the file is encrypted, or of an old binary format: save it without a password in the current format"
            )
        if data.count(b"PK\x01\x02") > MAX_ENTRIES:
            raise InvalidDocument(f"the file is a zip of more than {MAX_ENTRIES:,} entries")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise InvalidDocument(f"not a zipped file: {error}") from error
        self._names = {name.replace("\\", "/").strip("/").lower(): name for name in self._zip.namelist()}
        self._left = MAX_READ

    def __contains__(self, name: str) -> bool:
        return name.strip("/").lower() in self._names

    def names(self, beginning: str) -> list[str]:
        """The names of the entries that begin so, in order."""
        return sorted(name for name in self._names if name.startswith(beginning))

    @property
    def unpacked_size(self) -> int:
        """The bytes of all entries, as the zip declares them; it yields no more."""
        return sum(entry.file_size for entry in self._zip.infolist())

    def read(self, name: str) -> bytes:
        """The bytes of a part. Raises ``KeyError`` if there is none, and ``InvalidDocument`` if they are too many."""
        allowed = min(MAX_PART, self._left)
        try:
            with self._zip.open(self._names[name.strip("/").lower()]) as file:
                data = file.read(allowed + 1)
        except RuntimeError as error:
            raise InvalidDocument("the file is encrypted: save it without a password") from error
        if len(data) > allowed:
            raise InvalidDocument(f"{name} unpacks to more than {MAX_PART:,} bytes, or all parts to {MAX_READ:,}")
        self._left -= len(data)
        return data

    def xml(self, name: str) -> Element:
        """The root element of a part."""
        return parsed(self.read(name), name)

    def relations(self, name: str) -> dict[str, Relation]:
        """The links of a part by their ids; of the whole package for the name ``""``."""
        folder, base = posixpath.split(name)
        links = posixpath.join(folder, "_rels", f"{base}.rels")
        if links not in self:
            return {}
        found = {}
        for link in self.xml(links):
            target = unquote(link.get("Target", ""))
            path = target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
            kind = link.get("Type", "").rpartition("/")[2]
            found[link.get("Id", "")] = Relation(kind, path, link.get("TargetMode") == "External")
        return found

    def target(self, name: str, kind: str) -> str | None:
        """The part that a part links to by the kind of link, if it is in the package."""
        links = self.relations(name).values()
        return next((link.target for link in links if link.kind == kind and link.target in self), None)

    def title(self) -> str:
        """The title among the properties of the whole file, or an empty string."""
        name = self.target("", "core-properties")
        titles = [] if name is None else [child.text or "" for child in self.xml(name) if tag(child) == "dc:title"]
        return "".join(titles).strip()


def parsed(data: bytes, name: str) -> Element:
    """The root element of XML, without its comments, entities and external parts. Raises ``InvalidDocument``."""
    from lxml import etree

    if data.count(b"<") + data.count(b'="') > MAX_MARKS:
        raise InvalidDocument(f"{name} has more than {MAX_MARKS:,} tags and attributes")
    # Ids that occur twice or are no names are errors only where they are collected.
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
        collect_ids=False,
    )
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise InvalidDocument(f"{name} is not XML that can be read: {error}") from error


@lru_cache(maxsize=4096)
def _short(name: str) -> str:
    namespace, _, local = name[1:].rpartition("}")
    prefix = _PREFIXES.get(namespace)
    return f"{prefix}:{local}" if prefix else f":{local}"


def tag(element: Element) -> str:
    """The short name of an element, ``w:p``; one of an unknown namespace begins with a colon."""
    return _short(element.tag) if isinstance(element.tag, str) else ""


def attribute(element: Element, name: str) -> str | None:
    """The value of an attribute by its local name, whatever its namespace."""
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return str(value)
    return None


def child(element: Element, *path: str) -> Element | None:
    """The first child with a name, of it the first with the next name, and so on."""
    for name in path:
        element = next((each for each in element if tag(each) == name), None)
        if element is None:
            return None
    return element


def is_on(element: Element | None) -> bool:
    """True if a property that is a switch is there and on."""
    return element is not None and (attribute(element, "val") or "true") not in ("0", "false", "off")


def branch(alternatives: Element) -> Iterator[Element]:
    """The children of one choice of ``mc:AlternateContent``: the first that holds text, or else the first."""
    choices = [each for each in alternatives if tag(each) in ("mc:Choice", "mc:Fallback")]
    best = next((each for each in choices if _holds_text(each)), choices[0] if choices else ())
    yield from best


def _holds_text(element: Element) -> bool:
    """True if there is text among the first elements of a choice.

    Their number is bounded, because choices lie within choices, and each of them is searched again.
    """
    return any(tag(each) in _TEXTS for each in islice(element.iter(), _LOOKED_AT))
