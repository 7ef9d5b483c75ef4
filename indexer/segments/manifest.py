"""The manifest of a segment: counts, recipe, and the size and checksum of every file."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from indexer.disk import shortage
from indexer.errors import SegmentCorrupt
from indexer.representations.details import UNITS, of_units, with_units
from indexer.segments.layout import FORMAT_VERSION, MANIFEST
from indexer.types import Recipe
from models.failpoints import failpoint
from models.types import SpanBounds

# Files of these kinds are large from this size on: arrays of bytes, texts and FAISS indexes. They are not parsed, or
# not without a check of their own, so that they can be verified after a segment is opened.
_LARGE_KINDS: Final = frozenset({".i8", ".u8", ".zst", ".faiss"})
_LARGE: Final = 2**20
# Never another folder's.
_FILE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


class SegmentKey(NamedTuple):
    """The folder of a segment, and the checksum of its manifest."""

    folder: Path
    manifest_sha256: str


@dataclass(frozen=True, slots=True)
class FileEntry:
    """Size and SHA-256 of one file."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of ``manifest.json``. After a merge, ``unknown_units`` is the most that there may be.

    ``rows`` counts the rows of every representation besides units. On disk these counts, and the details of the
    recipe, are keys beside the others.
    """

    recipe: Recipe
    documents: int
    parts: int
    units: int
    unknown_units: int
    code_points: int
    files: dict[str, FileEntry]
    rows: Mapping[str, int] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """Size of all files but the manifest."""
        return sum(entry.bytes for entry in self.files.values())


def describe(path: Path) -> FileEntry:
    """Size and checksum of a file as it lies on disk."""
    with path.open("rb") as file:
        return FileEntry(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def write_manifest(folder: Path, manifest: Manifest) -> str:
    """Write ``manifest.json`` and return its SHA-256, which the catalog keeps."""
    fields = asdict(manifest)
    recipe, rows = fields.pop("recipe"), fields.pop("rows")
    del recipe["text"], recipe["details"]
    recipe |= {"representations": manifest.recipe.representations, **with_units(manifest.recipe)}
    body = json.dumps({"format": FORMAT_VERSION, "recipe": recipe, **fields, **rows}, indent=1, sort_keys=True).encode()
    with failpoint("write", folder / MANIFEST):
        (folder / MANIFEST).write_bytes(body)
    return hashlib.sha256(body).hexdigest()


def read_manifest(folder: Path, expected_sha256: str) -> Manifest:
    """Read ``manifest.json``; raises ``SegmentCorrupt`` unless it is the one that was published."""
    try:
        body = (folder / MANIFEST).read_bytes()
    except OSError as error:
        corrupt = SegmentCorrupt(f"{folder.name}: the manifest cannot be read: {error}", hint=_HINT)
        raise shortage(error) or corrupt from error
    if hashlib.sha256(body).hexdigest() != expected_sha256:
        raise SegmentCorrupt(f"{folder.name}: {MANIFEST} is not the one that was published.", hint=_HINT)
    try:
        fields = json.loads(body)
        version = fields.pop("format")
        manifest = _manifest(fields) if version == FORMAT_VERSION else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise SegmentCorrupt(f"{folder.name}: {MANIFEST} is no manifest.", hint=_HINT) from error
    if manifest is None:
        raise SegmentCorrupt(
            f"{folder.name} has format {version}; this Spanseek reads format {FORMAT_VERSION}.",
            hint="Use the version of Spanseek that wrote it, or index the documents again.",
        )
    return manifest


def _manifest(fields: dict[str, Any]) -> Manifest:
    recipe = fields.pop("recipe")
    bounds = SpanBounds(**recipe.pop("bounds"))
    names = [name for name in recipe.pop("representations") if name != UNITS]
    details = {name: recipe.pop(name) for name in names}
    text, _ = of_units({UNITS: recipe.pop(UNITS)} if UNITS in recipe else {})
    rows = {name: fields.pop(name) for name in names}
    files = {name: _entry(name, entry) for name, entry in fields.pop("files").items()}
    manifest = Manifest(Recipe(**recipe, bounds=bounds, details=details, text=text), files=files, rows=rows, **fields)
    counts = (manifest.documents, manifest.parts, manifest.units, manifest.unknown_units, manifest.code_points)
    if not all(type(count) is int and count >= 0 for count in (*counts, *rows.values())):
        raise ValueError("a count is none")
    return manifest


def _entry(name: str, fields: Mapping[str, Any]) -> FileEntry:
    entry = FileEntry(**fields)
    if not _FILE.fullmatch(name) or type(entry.bytes) is not int or type(entry.sha256) is not str:
        raise ValueError(name)
    return entry


def check_sizes(folder: Path, manifest: Manifest) -> None:
    """Raise ``SegmentCorrupt`` for a file that is missing, too short or too long."""
    for name, entry in manifest.files.items():
        try:
            size = (folder / name).stat().st_size
        except OSError as error:
            raise SegmentCorrupt(f"{folder.name}: {name} cannot be read: {error}", hint=_HINT) from error
        if size != entry.bytes:
            raise SegmentCorrupt(f"{folder.name}: {name} has {size} bytes instead of {entry.bytes}.", hint=_HINT)


def verify_files(folder: Path, manifest: Manifest, *, large: bool) -> None:
    """Compare the large files, or all others, with their checksums; raises ``SegmentCorrupt`` for the first damage."""
    for name, entry in manifest.files.items():
        if _is_large(name, entry) == large and (damage := _damage(folder, name, entry)):
            raise SegmentCorrupt(damage, hint=_HINT)


def damages(folder: Path, expected_sha256: str) -> Iterator[str]:
    """All damage of a segment's files, one sentence each."""
    try:
        manifest = read_manifest(folder, expected_sha256)
    except SegmentCorrupt as error:
        yield str(error)
        return
    for name, entry in manifest.files.items():
        if damage := _damage(folder, name, entry):
            yield damage


def _is_large(name: str, entry: FileEntry) -> bool:
    return entry.bytes >= _LARGE and Path(name).suffix in _LARGE_KINDS


def _damage(folder: Path, name: str, entry: FileEntry) -> str | None:
    try:
        actual = describe(folder / name)
    except FileNotFoundError:
        return f"{folder.name}: {name} is missing."
    except OSError as error:
        if named := shortage(error):
            raise named from error
        return f"{folder.name}: {name} cannot be read: {error}"
    return None if actual == entry else f"{folder.name}: {name} is damaged: its size or SHA-256 is not the manifest's."


_HINT = "Run `spanseek verify` to see all damage; restore the segment from a backup or index its documents again."
