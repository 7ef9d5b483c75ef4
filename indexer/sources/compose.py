"""Documents of files that are one document: parts within the limits, and errors of parsers as refusals."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Final

from indexer.errors import InvalidDocument, NoText
from indexer.sources.documents import MAX_PARTS, checked_id, checked_metadata, checked_size, checked_text
from indexer.sources.records import Reading
from models.types import Document, Part

INSTALL: Final = "reading it needs a library that is not installed; run: pip install 'spanseek[files]'"


def guarded_parser(kind: str) -> Callable[[Callable[[Reading], Document]], Callable[[Reading], Document]]:
    """Let a parser of untrusted files raise ``InvalidDocument`` alone: they raise whatever their parts raise."""

    def guard(parse: Callable[[Reading], Document]) -> Callable[[Reading], Document]:
        @wraps(parse)
        def guarded(reading: Reading) -> Document:
            try:
                return parse(reading)
            except InvalidDocument:
                raise
            except ImportError:
                raise InvalidDocument(INSTALL) from None
            except RecursionError:
                raise InvalidDocument(f"not {kind} that can be read: it is nested too deeply") from None
            except Exception as error:
                raise InvalidDocument(f"not {kind} that can be read: {error or type(error).__name__}") from error

        return guarded

    return guard


def composed(reading: Reading, parts: Sequence[Part], metadata: Mapping[str, object]) -> Document:
    """A document of the parts, with the metadata that are not empty. Raises ``NoText`` where no part holds text."""
    if not parts:
        if reading.lost:
            raise InvalidDocument(f"the file holds no text that can be read, but {', '.join(reading.lost)}")
        raise NoText("the file holds no text")
    kept = {name: storable(value) if isinstance(value, str) else value for name, value in metadata.items() if value}
    texts = tuple(Part(checked_text(storable(part.text)), part.metadata) for part in within(parts, MAX_PARTS))
    return checked_size(Document(checked_id(reading.document_id), texts, checked_metadata(kept)))


def within(parts: Sequence[Part], most: int) -> Sequence[Part]:
    r"""At most some number of parts: where there are more, neighbours become one part of several lines.

    Pieces of one section and one page are joined first.

    >>> [part.text for part in within([Part("a", {"n": 1}), Part("b", {"n": 1}), Part("c", {"n": 2})], 2)]
    ['a\nb', 'c']
    """
    while len(parts) > most:
        joined = _paired(parts, lambda one, other: one.metadata == other.metadata)
        parts = joined if len(joined) < len(parts) else _paired(parts, lambda one, other: True)
    return parts


def _paired(parts: Sequence[Part], belong: Callable[[Part, Part], bool]) -> list[Part]:
    """Every part joined with the next one, if both belong together."""
    joined: list[Part] = []
    is_open = False
    for part in parts:
        if is_open and belong(joined[-1], part):
            joined[-1] = Part(f"{joined[-1].text}\n{part.text}", joined[-1].metadata)
            is_open = False
        else:
            joined.append(part)
            is_open = True
    return joined


def storable(text: str) -> str:
    """The text without what no file can hold: NUL, and lone surrogates, which fonts without a map of signs give."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()
