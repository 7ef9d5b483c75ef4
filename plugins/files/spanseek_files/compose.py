"""Documents of files that are one document, from their parts: within the limits, with headings and rows."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from indexer.errors import InvalidDocument, NoText
from indexer.sources.documents import MAX_PARTS, checked_id, checked_metadata, checked_size, checked_text, within
from indexer.sources.records import Reading
from models.types import Document, JsonValue, Part


def composed(reading: Reading, parts: Sequence[Part], metadata: Mapping[str, object]) -> Document:
    """A document of the parts, with the metadata that are not empty. Raises ``NoText`` where no part holds text."""
    if not parts:
        if reading.lost:
            raise InvalidDocument(f"the file holds no text that can be read, but {', '.join(reading.lost)}")
        raise NoText("the file holds no text")
    kept = {name: storable(value) if isinstance(value, str) else value for name, value in metadata.items() if value}
    texts = tuple(Part(checked_text(storable(part.text)), part.metadata) for part in within(parts, MAX_PARTS))
    return checked_size(Document(checked_id(reading.document_id), texts, checked_metadata(kept)))


class Headings:
    """The headings above the paragraph that is read."""

    def __init__(self) -> None:
        self._path: list[tuple[int, str]] = []

    def enter(self, level: int, title: str) -> None:
        """Let a heading begin its section."""
        self._path = [*((above, each) for above, each in self._path if above < level), (level, title)]

    def metadata(self, kind: str) -> dict[str, JsonValue]:
        """The metadata of a part of a kind that is read now."""
        section: dict[str, JsonValue] = {"section": [title for _, title in self._path]} if self._path else {}
        return section | ({"kind": kind} if kind else {})


def row_parts(cells: Sequence[Sequence[Part]], kind: str, repeated: int = 1) -> Iterator[Part]:
    """One part of cells that hold a paragraph of a kind at most, what stands beside after it; else cell after cell."""
    own = [[part for part in cell if _kind(part) == kind] for cell in cells]
    if any(len(paragraphs) > 1 for paragraphs in own):
        yield from chain.from_iterable(cells)
        return
    filled = [part for part, *_ in filter(None, own)]
    if filled:
        part = Part("\t".join(" ".join(each.text.split()) for each in filled), filled[0].metadata)
        yield from [part] * repeated
    yield from (part for part in chain.from_iterable(cells) if _kind(part) != kind)


def _kind(part: Part) -> JsonValue:
    return part.metadata.get("kind", "")


def storable(text: str) -> str:
    """The text without what no file can hold: NUL, and lone surrogates, which fonts without a map of signs give."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()
