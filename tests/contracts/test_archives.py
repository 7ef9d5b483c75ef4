"""The file of a snapshot: what was written is read, and nothing else is."""

import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.archives.archive import (
    CATALOG,
    INDEX,
    ArchiveInfo,
    check_archive,
    extract_archive,
    read_info,
    write_archive,
)
from indexer.errors import BackupFailed, SnapshotInvalid
from indexer.segments.manifest import describe
from tests.examples import examples

CONTENTS = {CATALOG: b"rows", "segments/18ea-33b8/a.u8": b"\0" * 3_000_000, "whitenings/w.safetensors": b""}


def nothing(done: int, total: int) -> None:
    pass


def written(folder: Path, contents: dict[str, bytes] | None = None) -> tuple[Path, ArchiveInfo]:
    sources = {}
    for number, (name, data) in enumerate((contents or CONTENTS).items()):
        sources[name] = folder / f"source-{number}"
        sources[name].write_bytes(data)
    files = {name: describe(path) for name, path in sources.items()}
    info = ArchiveInfo("calls", "slice", 3, 9, 2, "2026-01-01T00:00:00+00:00", files)
    path = folder / "made" / "x.tar"
    write_archive(path, info, sources, nothing)
    return path, info


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path, info = written(tmp_path)
    seen: list[tuple[int, int]] = []
    assert read_info(path) == info
    assert check_archive(path, lambda done, total: seen.append((done, total))) == info
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (info.bytes, info.bytes) == (3_000_004, 3_000_004)
    assert extract_archive(path, tmp_path / "out", nothing) == info
    assert {
        str(one.relative_to(tmp_path / "out")): one.read_bytes() for one in (tmp_path / "out").rglob("*.*")
    } == CONTENTS
    assert [one.name for one in path.parent.iterdir()] == ["x.tar"]


def test_a_source_that_is_damaged_makes_no_snapshot(tmp_path: Path) -> None:
    source = tmp_path / "rows"
    source.write_bytes(b"rows")
    info = ArchiveInfo("calls", "slice", 0, 0, 0, "2026-01-01T00:00:00+00:00", {CATALOG: describe(source)})
    source.write_bytes(b"r0ws")
    with pytest.raises(BackupFailed, match=r"catalog\.sqlite3 is damaged"):
        write_archive(tmp_path / "made" / "x.tar", info, {CATALOG: source}, nothing)
    assert list((tmp_path / "made").iterdir()) == []


def test_progress_may_end_the_work(tmp_path: Path) -> None:
    path, _ = written(tmp_path)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check_archive(path, stop)


def made(path: Path, members: list[tuple[tarfile.TarInfo, bytes]]) -> Path:
    with tarfile.open(path, "w") as tar:
        for member, data in members:
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return path


def plain(name: str, data: bytes) -> tuple[tarfile.TarInfo, bytes]:
    return tarfile.TarInfo(name), data


def index(files: dict[str, bytes], **changes: Any) -> tuple[tarfile.TarInfo, bytes]:
    entries = {name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in files.items()}
    fields = {"format": 1, "collection": "c", "encoder": "e", "documents": 0, "units": 0, "generation": 0}
    return plain(INDEX, json.dumps({**fields, "created_at": "2026-01-01", "files": entries, **changes}).encode())


def special(name: str, type: bytes, target: str = "") -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = type, target
    return member, b""


ROWS = {CATALOG: b"rows"}
EVIL: dict[str, Callable[[], list[tuple[tarfile.TarInfo, bytes]]]] = {
    "empty": lambda: [],
    "no index": lambda: [plain(CATALOG, b"rows")],
    "an index that is a link": lambda: [special(INDEX, tarfile.SYMTYPE, "/etc/passwd")],
    "an index that is no JSON": lambda: [plain(INDEX, b"{"), plain(CATALOG, b"rows")],
    "an index that is a list": lambda: [plain(INDEX, b"[]")],
    "a later format": lambda: [index(ROWS, format=2), plain(CATALOG, b"rows")],
    "a further field": lambda: [index(ROWS, extra=1), plain(CATALOG, b"rows")],
    "a negative number": lambda: [index(ROWS, documents=-1), plain(CATALOG, b"rows")],
    "no catalog": lambda: [index({})],
    "an absolute name": lambda: [index({**ROWS, "/tmp/evil": b"x"}), plain(CATALOG, b"rows"), plain("/tmp/evil", b"x")],
    "a name that climbs": lambda: [index({**ROWS, "segments/../evil": b"x"}), plain(CATALOG, b"rows")],
    "a deep name": lambda: [index({**ROWS, "segments/a/b/c": b"x"}), plain(CATALOG, b"rows")],
    "a hidden name": lambda: [index({**ROWS, "segments/a/.b": b"x"}), plain(CATALOG, b"rows")],
    "a member without an entry": lambda: [index(ROWS), plain(CATALOG, b"rows"), plain("../evil", b"x")],
    "a member twice": lambda: [index(ROWS), plain(CATALOG, b"rows"), plain(CATALOG, b"rows")],
    "a missing member": lambda: [index({**ROWS, "segments/a/b": b"x"}), plain(CATALOG, b"rows")],
    "a symbolic link": lambda: [index({CATALOG: b""}), special(CATALOG, tarfile.SYMTYPE, "/etc/passwd")],
    "a hard link": lambda: [index({CATALOG: b""}), special(CATALOG, tarfile.LNKTYPE, "/etc/passwd")],
    "a device": lambda: [index({CATALOG: b""}), special(CATALOG, tarfile.CHRTYPE)],
    "a folder": lambda: [index({CATALOG: b""}), special(CATALOG, tarfile.DIRTYPE)],
    "another size": lambda: [index(ROWS), plain(CATALOG, b"rows!")],
    "another content": lambda: [index(ROWS), plain(CATALOG, b"r0ws")],
}


@pytest.mark.parametrize("name", EVIL)
def test_what_no_snapshot_holds_is_refused(name: str, tmp_path: Path) -> None:
    path = made(tmp_path / "evil.tar", EVIL[name]())
    inside = tmp_path / "inside"
    for read in (lambda: check_archive(path, nothing), lambda: extract_archive(path, inside, nothing)):
        with pytest.raises(SnapshotInvalid, match=r"evil\.tar is no valid snapshot: "):
            read()
    assert {one.name for one in tmp_path.iterdir()} <= {"evil.tar", "inside"}


@given(st.binary(min_size=1, max_size=4), st.floats(0, 1))
@settings(max_examples=examples(100), deadline=None)
def test_no_damage_passes(tmp_path_factory: pytest.TempPathFactory, damage: bytes, place: float) -> None:
    """Any change is refused, or changes nothing that is read: tar pads its members and fills up its end."""
    folder = tmp_path_factory.mktemp("snapshot")
    contents = {CATALOG: b"rows" * 100, "segments/a/b": b"vectors"}
    path, info = written(folder, contents)
    data = bytearray(path.read_bytes())
    at = int(place * (len(data) - len(damage)))
    data[at : at + len(damage)] = damage
    path.write_bytes(data)
    try:
        read = extract_archive(path, folder / "out", nothing)
    except SnapshotInvalid:
        return
    assert {name: (folder / "out" / name).read_bytes() for name in read.files} == contents
    assert read.files == info.files


@pytest.mark.parametrize("share", [0.0, 0.2, 0.9])
def test_what_breaks_off_is_refused(share: float, tmp_path: Path) -> None:
    path, _ = written(tmp_path)
    path.write_bytes(path.read_bytes()[: int(3_000_000 * share)])
    with pytest.raises(SnapshotInvalid):
        check_archive(path, nothing)


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.tar", tmp_path):
        with pytest.raises(SnapshotInvalid, match="cannot be read"):
            read_info(path)
