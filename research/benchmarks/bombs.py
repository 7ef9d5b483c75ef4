"""Small files that unpack, nest or repeat without bounds, one for every way that a format has for it."""

import base64
import gzip
import io
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import Final

_MEBI: Final = 2**20
_W: Final = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_X: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_LINKS: Final = "http://schemas.openxmlformats.org/package/2006/relationships"
_TYPES: Final = "http://schemas.openxmlformats.org/package/2006/content-types"
_BOOK: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
_KINDS: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_OPEN: Final = "urn:oasis:names:tc:opendocument:xmlns"


def _zip(files: Mapping[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def _word(body: str) -> bytes:
    return _zip({"word/document.xml": f"<w:document {_W}><w:body>{body}</w:body></w:document>"})


def _billion_laughs() -> str:
    entities = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    return f'<!DOCTYPE a [<!ENTITY a0 "ha">{entities}]>'


def _workbook(sheet: str) -> bytes:
    book = f'<Override PartName="/xl/workbook.xml" ContentType="{_BOOK}"/>'
    sheets = '<sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets>'
    return _zip({
        "[Content_Types].xml": f'<Types xmlns="{_TYPES}">{book}</Types>',
        "_rels/.rels": _links("officeDocument", "xl/workbook.xml"),
        "xl/_rels/workbook.xml.rels": _links("worksheet", "worksheets/sheet1.xml"),
        "xl/workbook.xml": f'<workbook xmlns="{_X}" xmlns:r="{_KINDS}">{sheets}</workbook>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_X}"><sheetData>{sheet}</sheetData></worksheet>',
    })  # fmt: skip


def _links(kind: str, target: str) -> str:
    link = f'<Relationship Id="r1" Type="{_KINDS}/{kind}" Target="{target}"/>'
    return f'<Relationships xmlns="{_LINKS}">{link}</Relationships>'


def _open_document(body: str) -> bytes:
    spaces = " ".join(f'xmlns:{name}="{_OPEN}:{name}:1.0"' for name in ("office", "table", "text"))
    return _zip({"content.xml": f"<office:document {spaces}><office:body>{body}</office:body></office:document>"})


def _pdf(*objects: bytes) -> bytes:
    """A file of numbered objects, of which the last one is the catalog."""
    out, offsets = bytearray(b"%PDF-1.7\n"), []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    root = b"trailer << /Size %d /Root %d 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(objects), len(out))
    return bytes(out + b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table) + root)


def _packed(data: bytes, entries: bytes = b"") -> bytes:
    body = zlib.compress(data, 9)
    return b"<< /Length %d /Filter /FlateDecode %s >>\nstream\n%s\nendstream" % (len(body), entries, body)


def _one_page(content: bytes) -> bytes:
    used = b"/Resources << /Font << /F1 1 0 R >> >> /Contents 2 0 R"
    page = b"<< /Type /Page /Parent 4 0 R /MediaBox [0 0 600 800] %s >>" % used
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>"
    pages = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
    return _pdf(font, content, page, pages, b"<< /Type /Catalog /Pages 4 0 R >>")


def _object_streams() -> bytes:
    """A stream of objects that unpacks to a gigabyte."""
    return _pdf(
        _packed(bytes(_MEBI) * 1000, b"/Type /ObjStm /N 1000000 /First 8"), b"<< /Type /Catalog /Pages 1 0 R >>"
    )


def _page_tree() -> bytes:
    """Nodes that each have the next one ten times."""
    nodes = [b"<< /Type /Pages /Kids [%s] /Count 1000000 >>" % (b"%d 0 R " % (n + 2) * 10) for n in range(12)]
    leaf = b"<< /Type /Page /Parent 12 0 R /MediaBox [0 0 600 800] >>"
    return _pdf(*nodes, leaf, b"<< /Type /Catalog /Pages 1 0 R >>")


def _nested_mail(levels: int) -> bytes:
    heads = b"".join(b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (n, n) for n in range(levels))
    return b"Subject: x\n" + heads + b"Content-Type: text/plain\n\nhello\n"


def _attached_zip() -> bytes:
    packed = base64.encodebytes(_zip({"word/document.xml": bytes(400 * _MEBI)}))
    head = b'Subject: x\nContent-Type: application/octet-stream; name="x.docx"\nContent-Transfer-Encoding: base64\n'
    return head + b'Content-Disposition: attachment; filename="x.docx"\n\n' + packed


def _cells(count: int) -> str:
    return "<row>" + '<c t="inlineStr"><is><t>a</t></is></c>' * count + "</row>"


_FAR_CELL: Final = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
_REPEATED_CELL: Final = (
    '<table:table><table:table-row table:number-rows-repeated="1000000"><table:table-cell '
    'table:number-columns-repeated="16384"><text:p>a</text:p></table:table-cell></table:table-row></table:table>'
)

# The bombs by the names of their files.
BOMBS: Final[dict[str, Callable[[], bytes]]] = {
    "zip.docx": lambda: _zip({"word/document.xml": bytes(400 * _MEBI)}),
    "entries.docx": lambda: _zip({str(n): b"" for n in range(100_000)}),
    "tags.docx": lambda: _word("<w:p/>" * 8_000_000),
    "attributes.docx": lambda: _word("<w:p " + " ".join(f'a{n}=""' for n in range(2_000_000)) + "/>"),
    "levels.docx": lambda: _word("<w:sdt><w:sdtContent>" * 200_000),
    "entities.docx": lambda: _zip({"word/document.xml": f"{_billion_laughs()}<a>&a11;</a>"}),
    "zip.pptx": lambda: _zip({"ppt/presentation.xml": bytes(400 * _MEBI)}),
    "zip.xlsx": lambda: _zip({"xl/workbook.xml": bytes(400 * _MEBI)}),
    "columns.xlsx": lambda: _workbook(_cells(1_000_000)),
    "far.xlsx": lambda: _workbook(_FAR_CELL),
    "wide.xlsx": lambda: _workbook('<row><c r="XFD1"><v>1</v></c></row>' * 100_000),
    "entities.odt": lambda: _zip({"content.xml": f"{_billion_laughs()}<a>&a11;</a>"}),
    "repeated.ods": lambda: _open_document(_REPEATED_CELL),
    "blanks.odt": lambda: _open_document('<text:p>a<text:s text:c="2000000000"/>b</text:p>'),
    "zip.epub": lambda: _zip({"META-INF/container.xml": bytes(400 * _MEBI)}),
    "groups.rtf": lambda: rb"{\rtf1 " + b"{" * 5_000_000 + b"x" + b"}" * 5_000_000 + b"}",
    "unpacked.pdf": lambda: _one_page(_packed(b"(x) Tj " * 100_000_000)),
    "signs.pdf": lambda: _one_page(_packed(b"BT /F1 1 Tf " + b"(xxxxxxxxxxxxxxxxxxxx) Tj " * 2_000_000)),
    "objects.pdf": _object_streams,
    "tree.pdf": _page_tree,
    "columns.csv": lambda: b"id,text" + b",c" * 1_000_000 + b"\n1,a\n",
    "cells.csv": lambda: b"id,text\n1,a" + b"," * 20_000_000 + b"\n",
    "quote.csv": lambda: b'id,text\n1,"' + b"a\n" * 20_000_000,
    "line.txt.gz": lambda: gzip.compress(bytes(_MEBI) * 1000, 1),
    "levels.json": lambda: b"[" * 20_000_000,
    "levels.ndjson": lambda: b'{"id":"a","text":"x","metadata":{"k":' + b"[" * 10_000_000,
    "levels.html": lambda: b"<div>" * 2_000_000 + b"x",
    "attributes.html": lambda: b"<p " + b" ".join(b'a%d=""' % n for n in range(1_000_000)) + b">x</p>",
    "levels.eml": lambda: _nested_mail(20_000),
    "attached.eml": _attached_zip,
    "cues.vtt": lambda: b"WEBVTT\n\n" + b"00:01.000 --> 00:02.000\nx\n\n" * 1_000_000,
    "tags.srt": lambda: b"1\n00:00:01,000 --> 00:00:02,000\n" + b"<" * 10_000_000,
}
