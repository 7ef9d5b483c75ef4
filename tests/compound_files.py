"""Compound files of Microsoft, as Outlook writes messages: storages and streams by their paths."""

import struct
from collections.abc import Mapping, Sequence
from typing import Final

_SECTOR: Final = 512
_SMALL: Final = 64
_FREE, _END, _FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
_STREAM, _STORAGE, _ROOT = 2, 1, 5


def compound_file(streams: Mapping[str, bytes]) -> bytes:
    """A file of streams under 4 KB, whose paths have storages before a slash.

    Its sectors are the table of sectors, the table of small sectors, the directory, and the small sectors.
    """
    paths = sorted({path for name in streams for path in _and_above(name)})
    children: dict[str, list[int]] = {}
    for number, path in enumerate(paths, 1):
        children.setdefault(path.rpartition("/")[0], []).append(number)
    small, chain, starts = bytearray(), list[int](), dict[str, int]()
    for path, data in streams.items():
        count = -(-len(data) // _SMALL)
        starts[path] = len(chain)
        chain += [*range(len(chain) + 1, len(chain) + count), _END]
        small += data.ljust(count * _SMALL, b"\0")
    directory, body = -(-(len(paths) + 1) * 128 // _SECTOR), -(-len(small) // _SECTOR)
    first = 2 + directory
    entries = [_entry("Root Entry", _ROOT, _first(children, ""), _FREE, first, len(small))]
    for number, path in enumerate(paths, 1):
        parent, _, name = path.rpartition("/")
        beside = children[parent][children[parent].index(number) + 1 :]
        kind = _STREAM if path in streams else _STORAGE
        size = len(streams.get(path, b""))
        entries.append(_entry(name, kind, _first(children, path), [*beside, _FREE][0], starts.get(path, 0), size))
    table = [_FAT, _END, *range(3, first), _END, *range(first + 1, first + body), _END]
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<5H", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    header += struct.pack("<9I", 0, 1, 2, 0, 4096, 1, 1, _END, 0) + struct.pack("<109I", 0, *[_FREE] * 108)
    listing = b"".join(entries).ljust(directory * _SECTOR, b"\0")
    return header + _table(table) + _table(chain) + listing + bytes(small).ljust(body * _SECTOR, b"\0")


def _and_above(path: str) -> list[str]:
    """A path, and those of the storages around it."""
    names = path.split("/")
    return ["/".join(names[:count]) for count in range(1, len(names) + 1)]


def _table(numbers: list[int]) -> bytes:
    return struct.pack("<128I", *numbers, *[_FREE] * (128 - len(numbers)))


def _first(children: Mapping[str, list[int]], path: str) -> int:
    return children[path][0] if path in children else _FREE


def _entry(name: str, kind: int, child: int, following: int, start: int, size: int) -> bytes:
    encoded = name.encode("utf-16-le")
    out = encoded.ljust(64, b"\0") + struct.pack("<HBB3I", len(encoded) + 2, kind, 1, _FREE, following, child)
    return out + bytes(36) + struct.pack("<IQ", start, size)


def outlook_message(
    subject: str,
    body: str = "",
    attachments: Mapping[str, bytes] | None = None,
    *,
    rich: bytes = b"",
    page: bytes = b"",
    people: Sequence[tuple[int, str]] = (),
    embedded: Mapping[str, bytes] | None = None,
) -> bytes:
    """A message of Outlook. ``rich`` is compressed, ``people`` have kinds, ``embedded`` are streams of a message."""
    streams = {
        **outlook_streams(subject, body, rich=rich, page=page),
        "__nameid_version1.0/__substg1.0_00020102": bytes(16),
    }
    for number, (kind, name) in enumerate(people):
        values = {0x3001001F: _unicode(name), 0x39FE001F: _unicode(f"{name.lower()}@example.com")}
        streams |= _storage(f"__recip_version1.0_#{number:08X}/", 8, values, {0x0C150003: kind})
    for number, (name, data) in enumerate((attachments or {}).items()):
        values = {0x37010102: data, 0x3707001F: _unicode(name)}
        streams |= _storage(f"__attach_version1.0_#{number:08X}/", 8, values)
    if embedded is not None:
        folder = "__attach_version1.0_#000000FF/"
        streams |= _storage(folder, 8, {}, {0x37050003: 5})
        streams |= {f"{folder}__substg1.0_3701000D/{name}": data for name, data in embedded.items()}
    return compound_file(streams)


def outlook_streams(
    subject: str, body: str, *, rich: bytes = b"", page: bytes = b"", head: int = 32
) -> dict[str, bytes]:
    """The streams of a message without others; ``head`` bytes come before its properties, 24 in another message."""
    texts = {0x0037001F: _unicode(subject), 0x1000001F: _unicode(body), 0x0C1F001F: _unicode("ann@example.com")}
    forms = {0x10090102: rich, 0x10130102: page}
    values = {tag: data for tag, data in {**texts, **forms}.items() if data}
    return _storage("", head, values, {0x3FDE0003: 65001})


def _storage(
    folder: str, head: int, values: Mapping[int, bytes], numbers: Mapping[int, int] | None = None
) -> dict[str, bytes]:
    """The streams of some properties, and the one that lists them, with those that are numbers."""
    listed = bytes(head) + b"".join(struct.pack("<4I", tag, 6, len(each) + 2, 0) for tag, each in values.items())
    listed += b"".join(struct.pack("<4I", tag, 6, each, 0) for tag, each in (numbers or {}).items())
    streams = {f"{folder}__substg1.0_{tag:08X}": each for tag, each in values.items()}
    return {f"{folder}__properties_version1.0": listed, **streams}


def _unicode(text: str) -> bytes:
    return text.encode("utf-16-le")
