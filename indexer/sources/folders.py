"""The files of a folder that are read, and those that are not."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from indexer.errors import SourceUnreadable
from indexer.sources.annotations import sidecar_of
from indexer.sources.formats import DOCUMENTS, HINT, kind_of, reader_of

# What macOS and Office put beside files under their names: forks of resources, and marks of files that are open.
_LITTER: Final = ("._", "~$")
_LITTER_FOLDER: Final = "__MACOSX"


@dataclass(frozen=True, slots=True)
class Listing:
    """The files to read, those that are passed over, and links that are not followed, each in the order of names."""

    files: tuple[Path, ...]
    others: tuple[Path, ...] = ()
    links: tuple[Path, ...] = ()


def list_files(path: Path, metadata: Path | None) -> Listing:
    """The files of a source: of a folder those below it, without sidecars and without the table of metadata.

    Links to folders and links out of the folder are not followed. Raises ``SourceUnreadable`` where there is nothing
    to read.
    """
    if not path.exists():
        raise SourceUnreadable(f"There is no file or folder {path}.", hint="Check --source.", field="source")
    listing = _of_folder(path, metadata) if path.is_dir() else _of_file(path)
    if not listing.files:
        raise SourceUnreadable(f"{path} holds nothing that Spanseek reads.", hint=HINT, field="source")
    return listing


def _of_file(path: Path) -> Listing:
    return Listing((path,) if reader_of(path) else ())


def _of_folder(path: Path, metadata: Path | None) -> Listing:
    root = path.resolve()
    candidates = sorted(path.rglob("*"))
    links = [one for one in candidates if one.is_symlink() and (one.is_dir() or not one.resolve().is_relative_to(root))]
    passed = {*links, *_sidecars(candidates)}
    files = [file for file in candidates if file.is_file() and file not in passed and not _is_same(file, metadata)]
    others = tuple(file for file in files if _is_litter(file.relative_to(path)) or not reader_of(file))
    skipped = {*others}
    return Listing(tuple(file for file in files if file not in skipped), others, tuple(links))


def _is_litter(file: Path) -> bool:
    return file.name.startswith(_LITTER) or _LITTER_FOLDER in file.parts


def _sidecars(files: list[Path]) -> set[Path]:
    return {sidecar_of(file) for file in files if kind_of(file) in DOCUMENTS}


def _is_same(file: Path, other: Path | None) -> bool:
    return other is not None and other.exists() and file.samefile(other)
