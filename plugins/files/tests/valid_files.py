"""A small valid file or two of every format, made by code."""

import io
import json
import zlib
from collections.abc import Callable, Mapping
from datetime import datetime
from email.message import EmailMessage
from functools import cache
from typing import Final

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq

from tests.compound_files import outlook_message, outlook_streams
from tests.pdf_files import lines, pdf, shown, stream
from tests.word_files import REL, box, cell, control, field, marked, paragraph, row, run, table, word_file, zipped

_MESSAGE: Final = (
    "From: Ann <ann@example.com>\nTo: Bob <bob@example.com>\nSubject: =?utf-8?q?K=C3=BCndigung?=\n"
    "Date: Mon, 05 Jan 2026 09:30:00 +0100\nMessage-ID: <1@example.com>\n"
    'Content-Type: text/plain; charset="utf-8"\nContent-Transfer-Encoding: quoted-printable\n\n'
    "I would like to end =E2=82=AC my plan.\n\nOn Sun, Jan 4, 2026 Bob wrote:\n> It is 30 now.\n"
)
_CUES: Final = "00:01.000 --> 00:02.000\n<v Ann>Cancel <b>it</b>.\n\n00:03.000 --> 00:04.000 align:start\nBob: No.\n"
PAGE: Final = (
    "<html><head><title>T</title><meta charset=utf-8></head><body><h1>Fees</h1><p>The <b>fee</b> is due.</p>"
    "<ol><li>one<li>two</ol><table><tr><td>a<td rowspan=2>b</table><ruby>x<rt>y</ruby><svg><text>z</text></svg></body>"
)
_RICH: Final = (
    r"{\rtf1\ansi\ansicpg1252\uc1{\fonttbl{\f0 Arial;}}{\stylesheet{\s1 heading 1;}}\f0\pard\s1 Fees\par"
    r"\pard The \b fee\b0  is \u8364?30\'80.{\footnote see 3}\par\trowd\cellx1\cellx2 a\cell b\cell\row"
    r"{\field{\*\fldinst HYPERLINK x}{\fldrslt y}}{\*\bkmkstart z}\par}"
)
_RECORDS: Final = [
    {"id": f"d{n}", "text": f"Call {n}.", "metadata": {"n": n, "of": {"a": [1, 2.5, None]}}} for n in range(5)
]


def _word() -> bytes:
    body = paragraph(
        run("The fee", "<w:b/>"),
        marked("ins", run(" is due")),
        field("PAGE", run("7")),
        box(paragraph(run("in a box"))),
    )
    rows = table(row(cell(paragraph(run("a"))), cell(paragraph(run("b")), properties='<w:gridSpan w:val="2"/>')))
    numbered = paragraph(run("one"), properties='<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>')
    level = '<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="lowerRoman"/><w:lvlText w:val="%1."/></w:lvl>'
    parts = {
        "numbering": f'<w:abstractNum w:abstractNumId="0">{level}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>',
        "styles": '<w:style w:styleId="H"><w:name w:val="heading 1"/><w:basedOn w:val="H"/></w:style>',
        "header1": paragraph(run("head")),
    }
    return word_file(body + rows + control(paragraph(run("of a control"))) + numbered, parts, title="T")


def _mail() -> bytes:
    message = EmailMessage()
    message["Subject"], message["From"] = "Papers", "Ann <ann@example.com>"
    message.set_content("See the papers.\n\n> quoted\n")
    message.add_alternative("<p>See the <b>papers</b>.</p>", subtype="html")
    message.add_attachment(b"A note.", maintype="text", subtype="plain", filename="note.txt")
    message.add_attachment(_word(), maintype="application", subtype="octet-stream", filename="fees.docx")
    return message.as_bytes()


def _columns() -> bytes:
    data = io.BytesIO()
    texts = pa.array(["Cancel it.", "", "It is late."]).dictionary_encode()
    nested = pa.array([{"a": [1, 2]}, None, {"a": []}])
    pq.write_table(pa.table({"id": ["a", "b", "c"], "text": texts, "of": nested}), data, write_page_checksum=False)
    return data.getvalue()


P, A = (f"http://schemas.openxmlformats.org/{kind}/2006/main" for kind in ("presentationml", "drawingml"))
LINKS: Final = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'
LINK: Final = f'<Relationship Id="{{}}" Type="{REL}/{{}}" Target="{{}}"/>'


def _slides() -> bytes:
    said = "<a:p><a:r><a:t>Fees</a:t></a:r></a:p>"
    shape = f"<p:sp><p:nvSpPr><p:nvPr/></p:nvSpPr><p:txBody>{said}</p:txBody></p:sp>"
    rows = f"<p:graphicFrame><a:tbl><a:tr><a:tc><a:txBody>{said}</a:txBody></a:tc></a:tr></a:tbl></p:graphicFrame>"
    slide = f'<p:sld xmlns:p="{P}" xmlns:a="{A}"><p:cSld><p:spTree>{shape}{rows}</p:spTree></p:cSld></p:sld>'
    order = '<p:sldIdLst><p:sldId id="256" r:id="a"/></p:sldIdLst>'
    return zipped(
        {
            "ppt/presentation.xml": f'<p:show xmlns:p="{P}" xmlns:r="{REL}">{order}</p:show>',
            "ppt/_rels/presentation.xml.rels": LINKS.format(LINK.format("a", "slide", "slide1.xml")),
            "ppt/slide1.xml": slide,
            "ppt/_rels/slide1.xml.rels": LINKS.format(LINK.format("n", "notesSlide", "notes.xml")),
            "ppt/notes.xml": slide,
        }
    )


def _workbook() -> bytes:
    book, out = openpyxl.Workbook(), io.BytesIO()
    for values in (["ID", "Text", "Stars"], [1, "late", 2], [2, "all, good", 5.5], [3, "=1+1", datetime(2026, 1, 5)]):
        book.active.append(values)
    book.create_sheet("Notes").append(["Due", None, 2.5])
    book.save(out)
    return out.getvalue()


def _open_document() -> bytes:
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text", "table")
    )
    cells = "<table:table-cell table:number-columns-repeated='2'><text:p>a</text:p></table:table-cell>"
    body = (
        '<text:h text:outline-level="1">Rent</text:h><text:p>The<text:s text:c="2"/>fee</text:p><text:list>'
        "<text:list-item><text:p>one</text:p></text:list-item></text:list><table:table>"
        f"<table:table-row table:number-rows-repeated='2'>{cells}</table:table-row></table:table>"
    )
    content = f"<office:x {spaces}><office:body><office:text>{body}</office:text></office:body></office:x>"
    return zipped({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content})


def _book() -> bytes:
    listed = '<manifest><item id="c" href="c.xhtml"/></manifest><spine><itemref idref="c"/><itemref idref="c"/></spine>'
    space = "urn:oasis:names:tc:opendocument:xmlns:container"
    root = '<rootfiles><rootfile full-path="p.opf"/></rootfiles>'
    files = {
        "META-INF/container.xml": f'<container xmlns="{space}">{root}</container>',
        "p.opf": f'<package xmlns="http://www.idpf.org/2007/opf">{listed}</package>',
        "c.xhtml": PAGE,
    }
    return zipped(files)


def packed(data: bytes) -> bytes:
    """A stream of a PDF, compressed."""
    return stream(zlib.compress(data), "/Filter /FlateDecode")


def _forms() -> bytes:
    """A PDF whose form draws another."""
    resources = "/Resources << /XObject << /N 3 0 R >> /Font << /F1 1 0 R >> >>"
    entries = f"/Type /XObject /Subtype /Form /BBox [0 0 600 700] {resources}"
    forms = [stream("/N Do", entries), stream(shown("x"), entries)]
    return pdf("/N Do", page="/Resources << /XObject << /N 2 0 R >> >>", extra=forms)


@cache
def valid(kind: str) -> tuple[bytes, ...]:
    """Valid files of a format."""
    return tuple(each if isinstance(each, bytes) else each.encode() for each in _VALID[kind]())


_VALID: Final[Mapping[str, Callable[[], tuple[str | bytes, ...]]]] = {
    "docx": lambda: (_word(),),
    "pptx": lambda: (_slides(),),
    "xlsx": lambda: (_workbook(),),
    "odt": lambda: (_open_document(),),
    "epub": lambda: (_book(),),
    "rtf": lambda: (_RICH,),
    "pdf": lambda: (
        pdf(lines("The fee is due.", "It is late."), packed(lines("Next page.").encode())),
        _forms(),
    ),
    "html": lambda: (PAGE,),
    "eml": lambda: (_MESSAGE, _mail()),
    "mbox": lambda: (f"From a Mon Jan  5 09:30:00 2026\n{_MESSAGE}\nFrom b Mon Jan  5 09:31:00 2026\n{_MESSAGE}",),
    "msg": lambda: (
        outlook_message(
            "Fees", "Too dear.", {"a.txt": b"note"}, people=[(1, "Ann")], embedded=outlook_streams("In", "it", head=24)
        ),
    ),
    "vtt": lambda: (f"WEBVTT\n\nNOTE x\n\nSTYLE\n::cue {{}}\n\n{_CUES}",),
    "srt": lambda: ("1\n00:00:01,000 --> 00:00:02,000\n<i>Cancel</i> it.\n\n2\n00:00:03,000 --> 00:00:04,000\nNo.\n",),
    "csv": lambda: ('id;text;n\na;"Cancel; it.";1\nb;"two\nlines";2\nc;x;\n',),
    "tsv": lambda: ("id\ttext\tn\na\tCancel it.\t1\nb\tx\t2\n",),
    "json": lambda: (json.dumps(_RECORDS), json.dumps({"of": 1, "records": _RECORDS})),
    "ndjson": lambda: ("".join(f"{json.dumps(each)}\n" for each in _RECORDS),),
    "parquet": lambda: (_columns(),),
    "md": lambda: ("# Fees\n\nThe *fee* is [due](x).\n\n```\ncode\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",),
    "txt": lambda: ("The fee is due.\n\nIt is late.\n", "Äpfel\n".encode("utf-16")),
}
KINDS: Final = tuple(_VALID)
