"""The names of segments' folders: temporary while they are written, final once they are whole."""

import secrets
import time
from pathlib import Path

from models.atomic import rename

_TEMPORARY = "tmp-"


def new_name() -> str:
    """A name for a segment to be written, which no other segment has."""
    # Names sort by time, which keeps listings readable; the random half keeps writers apart.
    return f"{time.time_ns():016x}-{secrets.token_hex(4)}"


def new_folder(collection: Path, name: str | None = None) -> Path:
    """The temporary folder for a new segment in the folder of its collection; ``name`` is its final name."""
    return collection / f"{_TEMPORARY}{name or new_name()}"


def is_temporary(name: str) -> bool:
    """True for the name of a folder that is being written, or was left behind."""
    return name.startswith(_TEMPORARY)


def final_name(folder: Path) -> Path:
    """The name that a segment's folder has once it is whole."""
    return folder.with_name(folder.name.removeprefix(_TEMPORARY))


def settle(folder: Path) -> Path:
    """Give a segment that is whole its final name, for good."""
    final = final_name(folder)
    rename(folder, final)
    return final
