"""Checksums of trained weights: a file ``SHA256SUMS`` beside them, in the form of coreutils' ``sha256sum``.

Shipped weights must have one. In other folders it is optional, and checked if it exists.
"""

import hashlib
from pathlib import Path

from models.errors import BackboneMismatch

FILE = "SHA256SUMS"
SHIPPED = Path(__file__).parent / "weights"


def check_sha256(path: Path, sha256: str) -> None:
    """Raise ``BackboneMismatch`` if the checksum of a file differs from the one in its folder."""
    expected = _read(path.parent).get(path.name)
    if expected != sha256 and (expected is not None or path.parent.parent == SHIPPED):
        raise BackboneMismatch(
            f"{path} is damaged or was changed: its SHA-256 is not the one in {FILE}.",
            hint=f"Reinstall Spanseek, or restore the file; write {FILE} anew if the change is intended.",
        )


def read_checked(path: Path) -> bytes:
    """The bytes of a small file, checked as :func:`check_sha256` does."""
    data = path.read_bytes()
    check_sha256(path, hashlib.sha256(data).hexdigest())
    return data


def record_checksums(folder: Path) -> None:
    """Update the checksums of a folder after one of its files was written; without any, do nothing."""
    names = _read(folder)
    if names:
        lines = (f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
        (folder / FILE).write_text("".join(lines), "ascii")


def _read(folder: Path) -> dict[str, str]:
    """The checksums of a folder by file name; empty without a checksum file."""
    if not (folder / FILE).is_file():
        return {}
    lines = (line.split(maxsplit=1) for line in (folder / FILE).read_text("utf-8").splitlines())
    return {fields[1].lstrip("*"): fields[0] for fields in lines if len(fields) == 2}
