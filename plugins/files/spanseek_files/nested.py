"""Files within files, such as attachments: read by their kind, their parts joined to those around them."""

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from indexer.disk import shortage
from indexer.sources.formats import READERS, kind_of
from indexer.sources.records import BadRecord, Reading, guarded
from models.types import Document, Part

DEEPEST: Final = 5
TOO_DEEP: Final = f"lies deeper than {DEEPEST} files"
_PICTURES: Final = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".ico", ".svg", ".webp", ".p7s", ".asc", ".vcf", ".ics")


def nested_parts(reading: Reading, name: str, data: bytes) -> Iterator[Part]:
    """The parts of an attachment, with its name as ``attachment``. What cannot be read is added to ``reading.lost``."""
    kind = kind_of(Path(name))
    if kind in _PICTURES:
        return
    if kind not in READERS or reading.depth >= DEEPEST:
        reading.lost.append(f"attachment {name}, which {'has no reader' if kind not in READERS else TOO_DEEP}")
        return
    inner = inside(reading, name, data)
    try:
        for number, read in READERS[kind](inner):
            record = guarded(f"{name}:{number}", read)
            if isinstance(record, BadRecord):
                reading.lost += [f"attachment {name}: {record.reason}"] if record.lost else []
                continue
            yield from _named(name, record)
    except Exception as error:
        if shortage(error):
            raise
        reading.lost.append(f"attachment {name}: {error}")
    reading.lost += [f"attachment {name}: {what}" for what in inner.lost]


def inside(reading: Reading, name: str, data: bytes) -> Reading:
    """The reading of a file that lies within another."""
    return replace(
        reading,
        file=io.BytesIO(data),
        name=name,
        path=Path(name),
        open_again=lambda: io.BytesIO(data),
        notice="",
        lost=[],
        depth=reading.depth + 1,
    )


def _named(name: str, document: Document) -> Iterator[Part]:
    for part in document.parts:
        inner = part.metadata.get("attachment")
        yield Part(part.text, {**part.metadata, "attachment": f"{name}/{inner}" if inner else name})
