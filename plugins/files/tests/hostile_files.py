"""Files that somebody made to break their reader: what is done to valid ones, by bytes and by formats."""

import io
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from lxml import etree

from plugins.files.tests.valid_files import PAGE, packed, valid
from tests.compound_files import outlook_message
from tests.pdf_files import lines, pdf
from tests.word_files import zipped

_ZIPPED: Final = ("docx", "pptx", "xlsx", "odt", "epub")
Mutation = Callable[[bytes, random.Random], bytes]


def flipped(data: bytes, chance: random.Random) -> bytes:
    body = bytearray(data)
    for _ in range(chance.choice([1, 2, 8, 64])):
        body[chance.randrange(len(body))] ^= 1 << chance.randrange(8)
    return bytes(body)


def cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))]


def repeated(data: bytes, chance: random.Random) -> bytes:
    begin, size = chance.randrange(len(data)), chance.choice([1, 4, 32, 256, len(data)])
    times = chance.choice([1, 2, 100, 10_000])
    chunk = data[begin : begin + size]
    return data[:begin] + chunk * min(times, 2_000_000 // max(1, len(chunk))) + data[begin:]


def swapped(data: bytes, chance: random.Random) -> bytes:
    a, b, c = sorted(chance.randrange(len(data) + 1) for _ in range(3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def lengths(data: bytes, chance: random.Random) -> bytes:
    """Numbers of any width, such as lengths and offsets, become extreme ones."""
    body = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        code = chance.choice(["<H", "<I", "<Q", ">H", ">I", ">Q"])
        top = 2 ** (8 * struct.calcsize(code))
        value = struct.pack(
            code, chance.choice([0, 1, top - 1, top // 2, top // 2 - 1, len(data) % top, chance.randrange(top)])
        )
        at = chance.randrange(len(body))
        body[at : at + len(value)] = value
    return bytes(body)


# What is inserted into texts: numbers, openings without end, and bytes of other encodings.
_PIECES: Final = (
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\r", b'"', b"'", b"<", b"]]>", b"<!--", b"&#0;",
    b"&#x110000;", b"9" * 5_000, b"-1", b"1e400", b"\\u", b"\\", b"{", b"}", b"[", b"((", b">>", b"<<", b"\x1b$B",
    b"=?utf-7?q?=", b"--> ", b"99999999:00:00.000 --> 0:0", b"\n\n", b"\t" * 3_000, b";" * 3_000, b"\xe2\x80\xae",
    b"\xf0\x9f\x87\xa9" * 2_000, b"a\xcc\x81" + b"\xcc\x81" * 5_000, b'"text"', b"\\bin99999999 ",
    b"\\u-99999999 ", b"Content-Type: message/rfc822\n\n", b'Content-Type: multipart/mixed; boundary=""\n\n',
    b"<!DOCTYPE a [<!ENTITY b 'x'>]>", b"<svg><style>", b"<plaintext>",
)  # fmt: skip


def inserted(data: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.randint(1, 5)):
        at = chance.randrange(len(data) + 1)
        data = data[:at] + chance.choice(_PIECES) * chance.choice([1, 1, 1, 50]) + data[at:]
    return data


def numbered(data: bytes, chance: random.Random) -> bytes:
    """Written numbers become extreme ones."""
    digits = [at for at, byte in enumerate(data) if 48 <= byte <= 57]
    for _ in range(chance.randint(1, 5)):
        if digits:
            at = chance.choice(digits)
            number = chance.choice([b"-1", b"0", b"99999999999", b"9" * 400, b"1e308", b"2147483648", b"0x1"])
            data = data[:at] + number + data[at + 1 :]
    return data


_BRACKETS: Final = (
    (b"<div>", b"</div>"), (b"<table><tr><td>", b"</td></tr></table>"), (b"<ol><li>", b"</li></ol>"), (b"<b><p>", b""),
    (b"[", b"]"), (b'{"a":', b"}"), (b"{", b"}"), (b"{\\*\\x ", b"}"), (b"<<", b">>"), (b"> ", b""), (b"(", b")"),
    (b"<w:sdt><w:sdtContent>", b"</w:sdtContent></w:sdt>"), (b"<text:section>", b"</text:section>"),
    (b"<a:p><a:r>", b"</a:r></a:p>"), (b"<blockquote>", b"</blockquote>"), (b"Content-Type: message/rfc822\n\n", b""),
    (b"{\\field{\\fldrslt ", b"}}"), (b"{\\footnote ", b"}"), (b"<v a><i>", b""), (b"<svg>", b""), (b"<ruby>", b""),
    (b"<select>", b""),
)  # fmt: skip


def nested(data: bytes, chance: random.Random) -> bytes:
    """An element, a bracket or a group in itself, thousands of times."""
    begin, end = chance.choice(_BRACKETS)
    levels, at = chance.choice([10, 200, 300, 5_000, 100_000]), chance.randrange(len(data) + 1)
    levels = min(levels, 4_000_000 // (len(begin) + len(end)))
    return data[:at] + begin * levels + data[at : at + 20] + end * levels + data[at + 20 :]


PLAIN: Final[tuple[Mutation, ...]] = (flipped, cut, repeated, swapped, lengths, inserted, numbered, nested)


def rearranged(data: bytes, chance: random.Random) -> bytes:
    """XML whose elements lie in each other, are repeated, or have other attributes; it stays XML."""
    try:
        root = etree.fromstring(data)
    except etree.XMLSyntaxError:
        return inserted(data, chance)
    for _ in range(chance.randint(1, 4)):
        elements = list(root.iter(etree.Element))
        one, other = chance.choice(elements), chance.choice(elements)
        trick = chance.randrange(5)
        if trick == 0:  # an element in another one
            other.append(deepcopy(one))
        elif trick == 1 and one.getparent() is not None:  # many of them
            one.getparent().extend([deepcopy(one) for _ in range(min(2_000, 20_000 // len(list(one.iter()))))])
        elif trick == 2 and one.getparent() is not None:  # none
            one.getparent().remove(one)
        elif trick == 3:  # in themselves
            for _ in range(chance.choice([3, 200])):
                one.append(etree.Element(one.tag, dict(one.attrib)))
                one = one[-1]
        for key in one.attrib if trick == 4 else ():
            one.set(
                key, chance.choice(["", "-1", "0", "99999999999", "1e9", "x" * 10_000, "true", "../x", one.get(key)])
            )
    return bytes(etree.tostring(root))


def inside(data: bytes, chance: random.Random) -> bytes:
    """One entry of a zip is changed, and its checksum fits."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    name = chance.choice([name for name, content in files.items() if content])
    change = rearranged if chance.random() < 0.7 else chance.choice(PLAIN)
    return zipped(files | {name: change(files[name], chance)})


def tricked(data: bytes, chance: random.Random) -> bytes:
    """Zips that unpack to more than they say, of entries over each other, in each other, or of odd names."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    name = chance.choice(list(files))
    trick = chance.randrange(8)
    if trick == 0:  # a bomb
        return zipped(files | {name: files[name][:-10] + bytes(80 * 2**20)})
    if trick == 1:  # the same, of text
        return zipped(files | {name: files[name].replace(b">", b">" + b"x" * 2_000_000, 1)})
    if trick == 2:  # entries that are not read
        return zipped(files | {f"{number}/{name}": b"" for number in range(30_000)})
    if trick == 3:  # names that lead out, and names that occur twice
        return zipped({f"../{name}": content for name, content in files.items()} | {name.upper(): b"x"} | files)
    if trick == 4:  # a zip in itself
        return zipped(files | {name: data})
    body = bytearray(data)
    at = data.rindex(b"PK\x01\x02") if trick == 5 else data.index(b"PK\x01\x02")
    if trick == 7:  # all entries at the same place
        while at >= 0:
            body[at + 42 : at + 46] = bytes(4)
            at = data.find(b"PK\x01\x02", at + 1)
        return bytes(body)
    place, size = chance.choice([(8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (42, 4)])
    body[at + place : at + place + size] = chance.choice([bytes(size), b"\xff" * size, b"\x01" * size])
    return bytes(body)


def streamed(data: bytes, chance: random.Random) -> bytes:
    """A PDF one of whose streams, its contents or its tables of objects is another one."""
    bodies: list[bytes] = [
        b"q " * 200_000, b"BT /F1 12 Tf " + b"(x) Tj " * 100_000 + b"ET", b"/N Do " * 1_000, bytes(60 * 2**20),
        b"BT /F1 1e30 Tf 1e30 0 0 1e30 9e30 -9e30 Tm (x) Tj ET", b"BI /W 99999 /H 99999 /BPC 8 ID x EI", b"[" * 100_000,
        b"(" * 100_000, b"<<" * 100_000, b"BT /F1 12 Tf " + b"1 0 0 1 72 700 Tm (xx) Tj " * 20_000,
    ]  # fmt: skip
    content = packed(chance.choice(bodies))
    loops = ["", "/Parent 1 0 R", "/Contents 99 0 R", "/Kids [1 0 R]", "/Rotate 1e9", "/MediaBox [0 0 1e30 -1e30]"]
    made = pdf(content, lines("The fee is due."), page=chance.choice(loops), extra=[content])
    return made if chance.random() < 0.5 else chance.choice(PLAIN)(made, chance)


def columns(data: bytes, chance: random.Random) -> bytes:
    """Tables of many columns, of one row that is never done, or of columns of another kind."""
    trick = chance.randrange(5)
    if trick == 0:
        return b";".join(b"c%d" % number for number in range(chance.choice([2_000, 50_000, 500_000]))) + b"\n" + data
    if trick == 1:
        return data + b'"' + b"x" * chance.choice([200_000, 5_000_000])
    if trick == 2:
        return data + b";\n" * 300_000
    if trick == 3:
        return data.replace(b"\n", b"\r\n\n\r") * 200
    return data + b"a;" * 1_000_000


def parquets(data: bytes, chance: random.Random) -> bytes:
    """Parquet files of many columns, of other types, and deep ones."""
    out = io.BytesIO()
    if chance.random() < 0.3:
        table: dict[str, object] = {f"c{number}": [number] for number in range(5_000)}
        pq.write_table(pa.table({"id": ["a"], "text": ["x"], **table}), out)
        return out.getvalue()
    deep: object = 1
    for _ in range(chance.choice([3, 30])):
        deep = chance.choice([[deep], {"a": deep}])
    values = [[b"\xff\xfe"], [1e400], [2**62], [[]], [None], ["\x00" * 100_000], ["x" * 3_000_000], [deep]]
    pq.write_table(pa.table({"id": chance.choice(values), "text": chance.choice(values)}), out)
    return chance.choice([lambda data, _: data, flipped, lengths])(out.getvalue(), chance)


def objects(data: bytes, chance: random.Random) -> bytes:
    """A message of Outlook whose texts are other ones, or compressed badly."""
    rich = struct.pack("<IIII", 20, chance.choice([2**31 - 1, 0, 50]), 0x75465A4C, 0) + bytes(
        chance.choice([0, 8, 500])
    )
    page = chance.choice(PLAIN)(PAGE.encode(), chance)[:1_500]
    within = {"a.docx": zlib.compress(b"x"), "b.msg": data[:1_500], "c.eml": b"From: a\n\nx"}
    made = outlook_message("x" * chance.choice([1, 500]), "", within, rich=rich, page=page)
    return made if chance.random() < 0.5 else chance.choice(PLAIN)(made, chance)


_OF_KIND: Final[Mapping[str, tuple[Mutation, ...]]] = {
    **dict.fromkeys(_ZIPPED, (inside, inside, inside, tricked)),
    "pdf": (streamed,),
    "csv": (columns,),
    "tsv": (columns,),
    "parquet": (parquets,),
    "msg": (objects,),
}


def hostile(kind: str, number: int) -> bytes:
    """A hostile file of a format; the same for the same number."""
    chance = random.Random(f"{kind} {number}")
    of_kind = _OF_KIND.get(kind, ())
    first = chance.choice(of_kind) if of_kind and chance.random() < 0.5 else chance.choice(PLAIN)
    data = first(chance.choice(valid(kind)), chance)
    if data and chance.random() < 0.3:
        data = chance.choice(PLAIN)(data, chance)
    return data
