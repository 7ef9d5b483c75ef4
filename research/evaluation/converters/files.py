"""Files of a data set, as they were published or packed."""

import gzip
import tarfile
from collections.abc import Iterator
from pathlib import Path

from indexer.errors import SourceUnreadable


def read_text(folder: Path, name: str) -> str:
    """The text of ``name``, or of ``name.gz``; raises ``SourceUnreadable`` where there is neither.

    Bytes that are not UTF-8 become U+FFFD: offsets are those of the text as it is read.
    """
    if (folder / name).is_file():
        return _decode((folder / name).read_bytes())
    if (folder / f"{name}.gz").is_file():
        return _decode(gzip.decompress((folder / f"{name}.gz").read_bytes()))
    raise missing(folder, f"{name} or {name}.gz")


def read_texts(folder: Path, name: str) -> Iterator[tuple[str, str]]:
    """Names, without their endings, and texts of the files in the folder ``name``, or in ``name.tar.gz``."""
    if (folder / name).is_dir():
        yield from ((path.stem, _decode(path.read_bytes())) for path in (folder / name).glob("*.txt"))
    elif (folder / f"{name}.tar.gz").is_file():
        with tarfile.open(folder / f"{name}.tar.gz") as archive:
            for member in archive:
                content = archive.extractfile(member)
                if content is not None and member.name.endswith(".txt"):
                    yield Path(member.name).stem, _decode(content.read())
    else:
        raise missing(folder, f"{name}/ or {name}.tar.gz")


def _decode(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace")


def missing(folder: Path, what: str) -> SourceUnreadable:
    """The error for a folder that is not that of the data set."""
    return SourceUnreadable(f"{folder} holds no {what}.", hint="Give the data set's folder with --data.", field="data")
