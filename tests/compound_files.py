"""Compound files of Microsoft, as Outlook writes messages: storages and streams by their paths."""

import struct
from collections.abc import Mapping
from typing import Final

_SECTOR: Final = 512
_SMALL: Final = 64
_FREE, _END, _FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
_STREAM, _STORAGE, _ROOT = 2, 1, 5


def compound_file(streams: Mapping[str, bytes]) -> bytes:
    """A file of streams under 4 KB, whose paths have storages before a slash.

    Its sectors are the table of sectors, the table of small sectors, the directory, and the small sectors.
    """
    paths = sorted({path for name in streams for path in (name, name.rpartition("/")[0]) if path})
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


def _table(numbers: list[int]) -> bytes:
    return struct.pack("<128I", *numbers, *[_FREE] * (128 - len(numbers)))


def _first(children: Mapping[str, list[int]], path: str) -> int:
    return children[path][0] if path in children else _FREE


def _entry(name: str, kind: int, child: int, following: int, start: int, size: int) -> bytes:
    encoded = name.encode("utf-16-le")
    out = encoded.ljust(64, b"\0") + struct.pack("<HBB3I", len(encoded) + 2, kind, 1, _FREE, following, child)
    return out + bytes(36) + struct.pack("<IQ", start, size)


def outlook_message(subject: str, body: str, attachments: Mapping[str, bytes]) -> bytes:
    """A message of Outlook."""

    def storage(folder: str, header: int, values: Mapping[int, bytes]) -> dict[str, bytes]:
        """The streams of some properties, and the one that lists them."""
        listed = bytes(header) + b"".join(struct.pack("<4I", tag, 6, len(each) + 2, 0) for tag, each in values.items())
        streams = {f"{folder}__substg1.0_{tag:08X}": each for tag, each in values.items()}
        return {f"{folder}__properties_version1.0": listed, **streams}

    def unicode(text: str) -> bytes:
        return text.encode("utf-16-le")

    head = {0x0037001F: unicode(subject), 0x1000001F: unicode(body), 0x0C1F001F: unicode("ann@example.com")}
    streams = {**storage("", 32, head), "__nameid_version1.0/__substg1.0_00020102": bytes(16)}
    for number, (name, data) in enumerate(attachments.items()):
        values = {0x37010102: data, 0x3707001F: unicode(name)}
        streams |= storage(f"__attach_version1.0_#{number:08X}/", 8, values)
    return compound_file(streams)
