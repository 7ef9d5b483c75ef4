"""The records of a source, and the functions that readers make them with."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial, wraps
from pathlib import Path
from typing import BinaryIO, Final, NoReturn, TypeAlias

from indexer.errors import InvalidDocument, NoText
from indexer.sources.options import ReadOptions
from models.types import Document

# The longest line, CSV field and file that is one document, in bytes; CSV counts characters.
MAX_RECORD: Final = 64 * 2**20


@dataclass(frozen=True, slots=True)
class BadRecord:
    """An invalid record: its place (``file:line``) and the reason.

    ``lost`` says whether text was lost with it; False for a file that holds no text.
    """

    where: str
    reason: str
    lost: bool = True


Record: TypeAlias = Document | BadRecord
# What is said of comments that are not asked for.
COMMENTS: Final = "comments are left out (--comments reads them)"
# The line or number of a record, from 1, and the function that parses it.
Found: TypeAlias = tuple[int, Callable[[], Document]]


@dataclass(slots=True)
class Reading:
    """One file while it is read.

    ``file`` is positioned at its start and decompressed; ``open_again`` opens it anew, for readers that look twice.
    ``name`` is the file's path below the folder. A reader sets ``notice``, what it concluded about the file, and
    ``fraction``, where the position in the file does not say how far it is. To ``lost`` it adds what it left out of
    text that a person sees. ``depth`` counts the files around it, such as the message of an attachment.
    """

    file: BinaryIO
    name: str
    path: Path
    options: ReadOptions
    open_again: Callable[[], BinaryIO]
    notice: str = ""
    lost: list[str] = field(default_factory=list)
    depth: int = 0
    fraction: float | None = field(default=None)

    @property
    def document_id(self) -> str:
        """The id of a file that is one document: its path, whether it is packed or not."""
        return unpacked(self.name)

    @property
    def row_prefix(self) -> str:
        """The beginning of the ids of rows without an id."""
        given = self.options.row_ids
        return given if isinstance(given, str) else self.document_id

    def conclude(self, notice: str) -> None:
        """Add to what was concluded about the file."""
        self.notice = f"{self.notice}; {notice}" if self.notice else notice

    def note(self, count: int, what: str) -> None:
        """Conclude something about a number of things, unless there are none."""
        if count:
            self.conclude(f"{count:,} {what}")

    def lose(self, count: int, what: str, where: str = "") -> None:
        """Add a number of things to what is lost, unless there are none: ``2 embedded objects on slide 3``."""
        if count:
            self.lost.append(f"{count:,} {what}{'s' * (count > 1)}{where}")

    def whole(self) -> bytes:
        """All bytes of the file. Raises ``InvalidDocument`` if they are too many."""
        data = self.file.read(MAX_RECORD + 1)
        if len(data) > MAX_RECORD:
            raise InvalidDocument(f"the file has more than {MAX_RECORD:,} bytes")
        return data


Reader: TypeAlias = Callable[[Reading], Iterator[Found]]


def one_document(parse: Callable[[Reading], Document]) -> Reader:
    """The reader of files that are one document each, from their parser."""

    @wraps(parse)
    def read(reading: Reading) -> Iterator[Found]:
        yield 1, partial(parse, reading)

    return read


def guarded(where: str, read: Callable[[], Document]) -> Record:
    """The document, or why it is none."""
    try:
        return read()
    except UnicodeDecodeError as error:
        return BadRecord(where, f"not valid {error.encoding.upper()} at byte {error.start}")
    except (InvalidDocument, ValueError) as error:
        return BadRecord(where, str(error), lost=not isinstance(error, NoText))


def refuse(reason: str) -> NoReturn:
    """Raise ``InvalidDocument``: the body of a record that could not be parsed."""
    raise InvalidDocument(reason)


def is_packed(name: str) -> bool:
    """True if a file is gzipped, by its name.

    >>> is_packed("Calls.CSV.GZ")
    True
    """
    return name.lower().endswith(".gz")


def unpacked(name: str) -> str:
    """A name without ``.gz``.

    >>> unpacked("notes.txt.gz")
    'notes.txt'
    """
    return name[:-3] if is_packed(name) else name
