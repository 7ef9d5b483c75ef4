"""The file of a snapshot: a tar archive with an index of checksums as its first member.

It is not compressed, for texts in segments are. The index names every other member with its size and SHA-256; members
have the names of ``_MEMBER`` and are plain files, so that nothing is ever written outside a given folder.
"""

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Annotated, Final, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from indexer.errors import BackupFailed, SnapshotInvalid
from indexer.segments.manifest import FileEntry
from models.atomic import make_folder, replacing
from models.failpoints import failpoint

FORMAT: Final = 1
CATALOG: Final = "catalog.sqlite3"
INDEX: Final = "snapshot.json"
_PART: Final = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}"
_MEMBER: Final = re.compile(
    rf"{re.escape(CATALOG)}|segments/[A-Za-z0-9][A-Za-z0-9_-]{{0,63}}/{_PART}|whitenings/{_PART}"
)
_CHUNK: Final = 2**20
# Ten thousand segments have an index of about twenty megabytes.
_LARGEST_INDEX: Final = 2**26
_HINT: Final = "Take the file that `spanseek snapshot create` wrote; verify a copy with `spanseek snapshot verify`."

# Bytes done, and bytes in all. It may raise, to end the work.
OnBytes = Callable[[int, int], object]


Count = Annotated[int, Field(ge=0, lt=2**62)]


class _Entry(BaseModel):
    """The size and the checksum of a member, as the index has them."""

    model_config = ConfigDict(strict=True, extra="forbid")

    bytes: Count
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}\z")]


class _Index(BaseModel):
    """The index of a snapshot."""

    model_config = ConfigDict(strict=True, extra="forbid")

    format: int
    collection: str
    encoder: str
    documents: Count
    units: Count
    generation: Count
    created_at: Annotated[str, AfterValidator(lambda text: datetime.fromisoformat(text) and text)]
    files: dict[str, _Entry]

    @field_validator("files")
    @classmethod
    def _have_names(cls, files: dict[str, _Entry]) -> dict[str, _Entry]:
        if CATALOG not in files or not all(map(_MEMBER.fullmatch, files)):
            raise ValueError("a member has another name")
        return files


@dataclass(frozen=True, slots=True)
class ArchiveInfo:
    """The contents of a snapshot, as its index says."""

    collection: str
    encoder: str
    documents: int
    units: int
    generation: int
    created_at: str
    files: Mapping[str, FileEntry]

    @property
    def bytes(self) -> int:
        """The size of all members together."""
        return sum(entry.bytes for entry in self.files.values())


def write_archive(path: Path, info: ArchiveInfo, sources: Mapping[str, Path], progress: OnBytes) -> None:
    """Write a snapshot, checking each file while it is copied. Raises ``BackupFailed`` for a damaged one."""
    make_folder(path.parent)
    with (
        replacing(path) as partial,
        tarfile.TarFile(partial, "w", format=tarfile.PAX_FORMAT, copybufsize=_CHUNK) as tar,
    ):
        index = json.dumps({"format": FORMAT, **asdict(info)}, sort_keys=True).encode()
        _add(tar, INDEX, len(index), io.BytesIO(index))
        meter = _Meter(progress, info.bytes)
        for name, entry in info.files.items():
            with sources[name].open("rb") as file:
                hashed = _Hashed(file, meter)
                _add(tar, name, entry.bytes, hashed)
            if hashed.sha256 != entry.sha256:
                raise BackupFailed(f"{name} is damaged: its SHA-256 is not the manifest's.", hint=_DAMAGED)


_DAMAGED: Final = "`spanseek verify` lists all damage; restore the file from a backup."


def _add(tar: tarfile.TarFile, name: str, size: int, file: "IO[bytes] | _Hashed") -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o644
    with failpoint("write", Path(name)):
        tar.addfile(member, cast("IO[bytes]", file))


class _Meter:
    """Counts the bytes that are done."""

    def __init__(self, progress: OnBytes, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def add(self, size: int) -> None:
        self._done += size
        self._progress(self._done, self._total)


class _Hashed:
    """A file that is hashed and counted while it is read."""

    def __init__(self, file: IO[bytes], meter: _Meter) -> None:
        self._file, self._meter, self._hash = file, meter, hashlib.sha256()

    def read(self, size: int) -> bytes:
        """The next bytes."""
        data = self._file.read(size)
        self._hash.update(data)
        self._meter.add(len(data))
        return data

    @property
    def sha256(self) -> str:
        """The checksum of what was read."""
        return self._hash.hexdigest()


def read_info(path: Path) -> ArchiveInfo:
    """The contents of a snapshot, by its index alone. Raises ``SnapshotInvalid``."""
    with _opened(path) as tar:
        return _info(tar)


def check_archive(path: Path, progress: OnBytes) -> ArchiveInfo:
    """Read a snapshot to its end and compare every checksum. Raises ``SnapshotInvalid``."""
    return _read(path, lambda name: None, progress)


def extract_archive(path: Path, folder: Path, progress: OnBytes) -> ArchiveInfo:
    """Write the members of a snapshot below a new folder. Raises ``SnapshotInvalid``; what was written is then left."""

    def target(name: str) -> Path:
        written = folder / name
        written.parent.mkdir(parents=True, exist_ok=True)
        return written

    return _read(path, target, progress)


def _read(path: Path, target: Callable[[str], Path | None], progress: OnBytes) -> ArchiveInfo:
    with _opened(path) as tar:
        info = _info(tar)
        left, meter = dict(info.files), _Meter(progress, info.bytes)
        while (member := tar.next()) is not None:
            entry = left.pop(member.name, None)
            if entry is None or not _is_plain(member) or member.size != entry.bytes:
                raise _invalid(path, f"its member {member.name[:200]!r} is not one that its index names")
            with failpoint("write", Path(member.name)):
                sha256 = _copy(tar, member, target(member.name), meter)
            if sha256 != entry.sha256:
                raise _invalid(path, f"its member {member.name!r} is damaged: its SHA-256 differs from the index")
    if left:
        raise _invalid(path, f"its member {min(left)!r} is missing")
    return info


def _copy(tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path | None, meter: _Meter) -> str:
    """Read a member, to a new file if one is given; returns its checksum."""
    file = tar.extractfile(member)
    if file is None:
        raise AssertionError("a plain file can be read")
    hashed = _Hashed(file, meter)
    with target.open("xb") if target else nullcontext() as out:
        while data := hashed.read(_CHUNK):
            if out is not None:
                out.write(data)
    return hashed.sha256


def _info(tar: tarfile.TarFile) -> ArchiveInfo:
    member = tar.next()
    path = Path(str(tar.name))
    if member is None or member.name != INDEX or not _is_plain(member) or member.size > _LARGEST_INDEX:
        raise _invalid(path, f"its first member is not {INDEX}")
    file = tar.extractfile(member)
    try:
        fields = json.loads(file.read() if file else b"")
        version = fields.get("format")
        if version != FORMAT:
            raise _invalid(path, f"its format is {str(version)[:80]}, and this Spanseek reads format {FORMAT}")
        index = _Index.model_validate(fields).model_dump(exclude={"format"})
    except (ValueError, AttributeError, RecursionError) as error:
        raise _invalid(path, f"its {INDEX} is not valid") from error
    files = {name: FileEntry(**entry) for name, entry in index.pop("files").items()}
    return ArchiveInfo(**index, files=files)


def _is_plain(member: tarfile.TarInfo) -> bool:
    return member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not member.issparse()


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    """The archive as a stream. Raises ``SnapshotInvalid`` where it is none, or ends too early."""
    try:
        with path.open("rb") as file, tarfile.open(path, "r|", fileobj=file) as tar:
            yield tar
    except (tarfile.TarError, EOFError, UnicodeError) as error:
        raise _invalid(path, f"it is no archive, or is truncated: {error}") from error
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        if error.filename not in (None, str(path)):
            raise
        raise _invalid(path, f"it cannot be read: {error.strerror}") from error


def _invalid(path: Path, reason: str) -> SnapshotInvalid:
    return SnapshotInvalid(f"{path.name} is no valid snapshot: {reason}.", hint=_HINT, field="file")


def remove_archive(path: Path) -> None:
    """Delete a snapshot, if it is there."""
    with suppress(FileNotFoundError):
        path.unlink()
