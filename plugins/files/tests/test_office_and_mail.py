"""E-mail, spreadsheets, slides, OpenDocument, rich text and books: what their programs show."""

import base64
import io
import re
import zipfile
from collections.abc import Callable, Sequence
from datetime import datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.sources import BadRecord, ReadOptions, Source
from models.types import Document, Part
from spanseek_files.number_formats import shown_number
from tests.compound_files import outlook_message, outlook_streams
from tests.examples import examples
from tests.pdf_files import pdf, shown
from tests.word_files import paragraph, run, word_file, zipped

pytest.importorskip("lxml")


def source_of(folder: Path, name: str, data: str | bytes, options: ReadOptions | None = None) -> Source:
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return Source(folder / name, options)


def read(folder: Path, name: str, data: str | bytes, options: ReadOptions | None = None) -> Document:
    (document,) = source_of(folder, name, data, options)
    assert isinstance(document, Document), document
    return document


MESSAGE = """From: Ann <ann@example.com>
To: Bob <bob@example.com>, care@example.com
Subject: =?utf-8?q?K=C3=BCndigung?=
Date: Mon, 05 Jan 2026 09:30:00 +0100
Message-ID: <1@example.com>
Content-Type: text/plain; charset="iso-8859-1"
Content-Transfer-Encoding: 8bit

I would like to end my plan at the end of this month, since the price of
the plan has gone up again.

Ann

On Sun, Jan 4, 2026 at 10:00 AM Bob <bob@example.com> wrote:
> Your plan is \x80 30 now.
"""


def test_a_message_has_headers_paragraphs_and_quotes(tmp_path: Path) -> None:
    document = read(tmp_path, "x.eml", MESSAGE.encode("latin-1"))
    assert document.metadata == {
        "subject": "Kündigung",
        "message_id": "<1@example.com>",
        "from": "Ann <ann@example.com>",
        "to": ["Bob <bob@example.com>", "care@example.com"],
        "date": "2026-01-05T09:30:00+01:00",
    }
    assert document.parts == (
        Part("I would like to end my plan at the end of this month, since the price of the plan has gone up again."),
        Part("Ann"),
        Part("On Sun, Jan 4, 2026 at 10:00 AM Bob <bob@example.com> wrote:", {"quoted": True}),
        Part("Your plan is € 30 now.", {"quoted": True}),
    )


def with_attachments(*attachments: tuple[str, bytes]) -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = "Papers"
    message.set_content("See the papers.")
    message.add_alternative("<p>See the <b>papers</b>.</p>", subtype="html")
    for name, data in attachments:
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return message


def test_attachments_are_read_by_their_kind(tmp_path: Path) -> None:
    word = word_file(paragraph(run("The lease.")))
    table = b"id,text\n1,late parcel\n"
    message = with_attachments(("a.docx", word), ("b.csv", table), ("c.bin", b"x"), ("d.png", b"x"), ("e.pdf", b"no"))
    source = source_of(tmp_path, "x.eml", message.as_bytes())
    (document,) = source
    assert isinstance(document, Document)
    assert document.parts == (
        Part("See the papers."),
        Part("The lease.", {"attachment": "a.docx"}),
        Part("late parcel", {"attachment": "b.csv"}),
    )
    assert source.lost["x.eml"][0] == "attachment c.bin, which has no reader"
    assert source.lost["x.eml"][1].startswith("attachment e.pdf: not a PDF that can be read")


def test_messages_in_messages_are_read_within_bounds(tmp_path: Path) -> None:
    inner = with_attachments(("a.pdf", pdf(shown("The end."))))
    for level in range(8):
        outer = EmailMessage()
        outer["Subject"] = f"Level {level}"
        outer.set_content(f"Level {level}.")
        outer.add_attachment(inner)
        inner = outer
    source = source_of(tmp_path, "x.eml", inner.as_bytes())
    (document,) = source
    assert isinstance(document, Document)
    assert [part.text for part in document.parts] == [f"Level {level}." for level in (7, 6, 5, 4, 3, 2)]
    assert source.lost == {"x.eml": ("a message that lies deeper than 5 files",)}


def test_a_page_as_a_message_marks_what_it_quotes(tmp_path: Path) -> None:
    message = EmailMessage()
    message["Subject"] = "x"
    message.set_content(
        "<p>Yes.</p><blockquote><p>Will you?</p><blockquote>No.</blockquote></blockquote>", subtype="html"
    )
    document = read(tmp_path, "x.eml", message.as_bytes())
    assert document.parts == (Part("Yes."), Part("Will you?\nNo.", {"quoted": True}))


def test_headers_of_an_earlier_message_in_a_page_begin_what_is_quoted(tmp_path: Path) -> None:
    message = EmailMessage()
    message["Subject"] = "x"
    old = "<p><b>From:</b> Ann<br><b>Sent:</b> Monday<br><b>To:</b> Bob</p><p>Will you?"
    message.set_content(f"<head><style>p {{}}</style><body><p>Yes.<br>Bob{old}", subtype="html")
    assert read(tmp_path, "x.eml", message.as_bytes()).parts == (
        Part("Yes.\nBob"),
        Part("From: Ann\nSent: Monday\nTo: Bob", {"quoted": True}),
        Part("Will you?", {"quoted": True}),
    )


@pytest.mark.parametrize(
    ("charset", "codec", "text"),
    [
        ("iso-8859-2", "iso-8859-2", "Zażółć gęślą"),
        ("us-ascii", "utf-8", "Café"),
        ("utf-8", "cp1252", "Café for £5"),
        ("x-unknown", "utf-8", "Café"),
    ],
)
def test_attachments_are_read_in_the_charset_they_declare(tmp_path: Path, charset: str, codec: str, text: str) -> None:
    body = f"Content-Type: text/plain; charset={charset}\nContent-Disposition: attachment; filename=a.txt\n\n{text}"
    data = f"Subject: x\nContent-Type: multipart/mixed; boundary=A\n\n--A\n\nSee below.\n--A\n{body}\n--A--\n"
    assert read(tmp_path, "x.eml", data.encode(codec)).parts[1:] == (Part(text, {"attachment": "a.txt"}),)


def test_an_attached_page_without_text_is_not_lost(tmp_path: Path) -> None:
    source = source_of(tmp_path, "x.eml", with_attachments(("a.html", b"<p hidden>x")).as_bytes())
    (document,) = source
    assert isinstance(document, Document)
    assert (document.text.strip(), source.lost) == ("See the papers.", {})


def test_a_mailbox_is_a_document_a_message(tmp_path: Path) -> None:
    one = "From ann@example.com Mon Jan  5 09:30:00 2026\nSubject: one\n\nFirst.\n>From here on.\n\n"
    two = "From bob@example.com Mon Jan  5 09:30:00 2026\nSubject: two\n\nSecond.\n"
    documents = list(source_of(tmp_path, "x.mbox", one + two))
    assert documents == [
        Document("x.mbox:1", (Part("First.\nFrom here on."),), {"subject": "one"}),
        Document("x.mbox:2", (Part("Second."),), {"subject": "two"}),
    ]


ALTERNATIVES = """Subject: x
MIME-Version: 1.0
Content-Type: multipart/alternative; boundary=A

--A
Content-Type: text/plain

{plain}
--A
Content-Type: multipart/related; boundary=B

--B
Content-Type: text/html

<p>I want to end my plan.</p><p>The fee is too high.</p>
--B
Content-Type: image/png; name=logo.png

x
--B--
--A--
"""


@pytest.mark.parametrize("plain", ["", "Your program shows no pages, so open this message in a browser."])
def test_a_page_is_read_where_the_plain_form_of_a_message_says_little(tmp_path: Path, plain: str) -> None:
    document = read(tmp_path, "x.eml", ALTERNATIVES.format(plain=plain))
    assert [part.text for part in document.parts] == ["I want to end my plan.", "The fee is too high."]


def test_another_form_of_what_is_read_is_no_attachment(tmp_path: Path) -> None:
    document = read(tmp_path, "x.eml", ALTERNATIVES.format(plain="I want to end my plan. The fee is too high."))
    assert document.parts == (Part("I want to end my plan. The fee is too high."),)


def test_every_text_of_a_message_of_several_is_read(tmp_path: Path) -> None:
    message = EmailMessage()
    message["Subject"] = "x"
    message.make_mixed()
    for text in ("First.", "Second."):
        inner = EmailMessage()
        inner.set_content(text)
        inner.add_alternative(f"<p>{text}</p>", subtype="html")
        message.attach(inner)
    document = read(tmp_path, "x.eml", message.as_bytes())
    assert [part.text.strip() for part in document.parts] == ["First.", "Second."]


@pytest.mark.parametrize(
    ("charset", "text", "codec"),
    [
        ("us-ascii", "Café for £5", "utf-8"),
        ("us-ascii", "Café for 5€", "cp1252"),
        ("iso-8859-1", "Café for 5€", "cp1252"),
        ("gb2312", "我要取消计划朱镕基", "gbk"),
        ("shift_jis", "解約①", "cp932"),
        ("x-unknown", "Café for £5", "utf-8"),
        ("hex", "Café for £5", "cp1252"),
    ],
)
def test_charsets_of_messages_are_taken_as_programs_take_them(
    tmp_path: Path, charset: str, text: str, codec: str
) -> None:
    head = f"Subject: x\nContent-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: 8bit\n\n"
    assert read(tmp_path, "x.eml", head.encode() + text.encode(codec)).text == text


@pytest.mark.parametrize("kind", ["multipart/mixed", "multipart/alternative; boundary=A", "text/x-note", "text"])
def test_a_body_of_an_odd_kind_is_read(tmp_path: Path, kind: str) -> None:
    document = read(tmp_path, "x.eml", f"Subject: x\nContent-Type: {kind}\n\nThe fee is due.\n")
    assert document.text.strip() == "The fee is due."


def test_attachments_without_a_name_are_read_by_what_they_say_they_are(tmp_path: Path) -> None:
    message = EmailMessage()
    message["Subject"] = "x"
    message.set_content("See below.")
    kind = "vnd.openxmlformats-officedocument.wordprocessingml.document"
    message.add_attachment(word_file(paragraph(run("The lease."))), maintype="application", subtype=kind)
    message.add_attachment(b"x", maintype="audio", subtype="mpeg", filename="call.mp3")
    source = source_of(tmp_path, "x.eml", message.as_bytes())
    (document,) = source
    assert isinstance(document, Document)
    assert document.parts[1:] == (Part("The lease.", {"attachment": "unnamed.docx"}),)
    assert source.lost == {}


def test_a_forwarded_message_in_base64_is_read(tmp_path: Path) -> None:
    inner = base64.b64encode(b"Subject: y\n\nThe fee is due.\n").decode()
    data = f"Subject: x\nContent-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n{inner}\n"
    assert read(tmp_path, "x.eml", data).parts == (Part("The fee is due.", {"attachment": "y"}),)


def test_lines_of_texts_that_begin_with_from_begin_no_message(tmp_path: Path) -> None:
    one = "From ann@example.com Mon Jan  5 09:30:00 2026\nSubject: one\n\nHello.\n\nFrom now on I pay less.\n"
    two = "From - Mon Jan  5 09:30:00 2026\nSubject: two\n\nSecond.\n"
    documents = list(source_of(tmp_path, "x.mbox", one + two))
    assert [document.text for document in documents if isinstance(document, Document)] == [
        "Hello.\nFrom now on I pay less.",
        "Second.",
    ]


@pytest.mark.parametrize("piece", ["<v a><i>", "a ", "=?utf-8?q?a?= ", "a <a@example.com>, ", "@", "a=b;"])
@pytest.mark.parametrize("header", ["Content-Type: text/plain; charset=", "Subject: ", "To: ", "Date: "])
def test_of_a_long_header_the_beginning_is_read(tmp_path: Path, header: str, piece: str) -> None:
    """The standard library takes time and memory with the square of a header's length."""
    long = f"{header}{piece * (1_000_000 // len(piece))}"
    source = source_of(tmp_path, "x.eml", f"From: a@example.com\n{long}\n\nHello.\n")
    (document,) = source
    assert isinstance(document, Document)
    assert [part.text for part in document.parts] == ["Hello."]
    name = header.partition(":")[0]
    if name == "Subject":
        assert document.metadata["subject"]
    is_text = name in ("Subject", "To")
    assert [*source.lost.values()] == [(f"{name}: all but its first 100,000 characters",)] * is_text


def test_all_of_many_recipients_are_metadata(tmp_path: Path) -> None:
    raw = [f"=?utf-8?q?Doe=2C_J=C3=B6hn_{number}?= <j{number}@example.com>" for number in range(1_000)]
    people = [f"Doe, J\u00f6hn {number} <j{number}@example.com>" for number in range(1_000)]
    for some in (100, 1_000):
        document = read(tmp_path, "x.eml", f"To: {', '.join(raw[:some])}\n\nHello.\n")
        assert document.metadata["to"] == people[:some]


def test_of_too_many_recipients_the_first_are_metadata(tmp_path: Path) -> None:
    raw = [f"Anna <a{number}@example.com>" for number in range(9_000)]
    source = source_of(tmp_path, "x.eml", f"To: {', '.join(raw)}\n\nHello.\n")
    (document,) = source
    assert isinstance(document, Document)
    people = document.metadata["to"]
    assert isinstance(people, list)
    assert 3_000 < len(people) < len(raw)
    assert people == raw[: len(people)]
    assert source.lost


def test_an_attachment_with_a_long_name_is_read(tmp_path: Path) -> None:
    name = "\u8d39" * 200 + ".txt"
    message = with_attachments((name, b"The fee is due."))
    assert "The fee is due." in [part.text for part in read(tmp_path, "x.eml", message.as_bytes()).parts]


def test_a_message_of_outlook(tmp_path: Path) -> None:
    pytest.importorskip("oxmsg")
    data = outlook_message("Papers", "See the papers.\r\n", {"a.txt": b"The lease."})
    document = read(tmp_path, "x.msg", data)
    assert document.metadata["subject"] == "Papers"
    assert document.parts == (Part("See the papers."), Part("The lease.", {"attachment": "a.txt"}))


RICH = rb"{\rtf1\ansi\ansicpg1252 I want to \b end\b0  my plan.\par On Monday, Ann wrote:\par Caf\'e9}"


@pytest.mark.parametrize("is_compressed", [True, False])
def test_a_message_of_outlook_that_has_rich_text_alone(tmp_path: Path, is_compressed: bool) -> None:
    pytest.importorskip("oxmsg")
    compressed_rtf = pytest.importorskip("compressed_rtf")
    document = read(tmp_path, "x.msg", outlook_message("x", rich=compressed_rtf.compress(RICH, is_compressed)))
    assert document.parts == (
        Part("I want to end my plan."),
        Part("On Monday, Ann wrote:", {"quoted": True}),
        Part("Café"),
    )
    (bad,) = source_of(tmp_path, "y.msg", outlook_message("x", rich=b"no rich text, but bytes"))
    assert isinstance(bad, BadRecord)
    assert bad.lost


def test_a_page_of_outlook_with_broken_bytes_is_read(tmp_path: Path) -> None:
    pytest.importorskip("oxmsg")
    assert read(tmp_path, "x.msg", outlook_message("x", page=b"<p>Caf\xc3\xa9 \xff</p>")).text == "Café \ufffd"


def test_copies_and_messages_in_messages_of_outlook(tmp_path: Path) -> None:
    pytest.importorskip("oxmsg")
    inner = outlook_streams("Old", "The fee is due.", head=24)
    data = outlook_message("x", "See below.", people=[(1, "Bob"), (2, "Cy"), (3, "Di")], embedded=inner)
    document = read(tmp_path, "x.msg", data)
    assert document.metadata["to"] == ["Bob <bob@example.com>"]
    assert document.metadata["cc"] == ["Cy <cy@example.com>"]
    assert document.parts == (Part("See below."), Part("The fee is due.", {"attachment": "Old"}))


def workbook(**sheets: list[list[object]]) -> bytes:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
        sheet.sheet_state = "hidden" if name == "Hidden" else "visible"
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_a_sheet_with_a_column_of_texts_is_a_table(tmp_path: Path) -> None:
    rows: list[list[object]] = [["ID", "Text", "Stars"], [1, "late parcel", 2], [2, "all, good", 5.0]]
    source = source_of(tmp_path, "x.xlsx", workbook(Calls=rows, Notes=[["Due", None, 2.5], []]))
    assert list(source) == [
        Document("1", (Part("late parcel"),), {"Stars": 2}),
        Document("2", (Part("all, good"),), {"Stars": 5}),
        Document("x.xlsx", (Part("Due\t2.5", {"section": ["Notes"]}),)),
    ]


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (0.125, "0%", "13%"),
        (0.125, "0.00%", "12.50%"),
        (31500, "£#,##0.00", "£31,500.00"),
        (-31500.5, '#,##0.00\\ "€"', "-31,500.50 €"),
        (-1234.5, "[$$-409]#,##0.00;[Red]\\([$$-409]#,##0.00\\)", "($1,234.50)"),
        (0, '_-* #,##0.00_-;-* #,##0.00_-;_-* "-"??_-;_-@_-', "-"),
        (1234567, '#,##0.0,,"m"', "1.2m"),
        (7, "000", "007"),
        (1.005, "0.00", "1.01"),
        (0.5, "#.##", ".5"),
        (3, "0.0##", "3.0"),
        (-0.001, "0.0", "0.0"),
        (5, ";;;", ""),
        (0.1 + 0.2, "General", "0.3"),
        (0.75, "# ?/?", "0.75"),
        (12345, "0.00E+00", "12345"),
        (True, "General", "TRUE"),
        (datetime(2026, 1, 5), "dd/mm/yyyy", "2026-01-05"),
        (time(9, 30), "h:mm", "09:30:00"),
        (timedelta(hours=26), "[h]:mm:ss", "26:00:00"),
    ],
)
def test_cells_are_read_as_they_are_shown(tmp_path: Path, value: object, form: str, text: str) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["Fees", value])
    book.active["B1"].number_format = form
    out = io.BytesIO()
    book.save(out)
    (part,) = read(tmp_path, "x.xlsx", out.getvalue()).parts
    assert part.text == "\t".join(filter(None, ["Fees", text]))


@given(st.decimals(-(10**9), 10**9, allow_nan=False, places=4))
@settings(max_examples=examples(200), deadline=None)
def test_shown_numbers_are_those_of_the_cells(number: Decimal) -> None:
    """Against Python's own formatting of the rounded number."""
    with localcontext(rounding=ROUND_HALF_UP):
        rounded = round(abs(number) * 100, 2)
    sign = "-" if number < 0 and rounded else ""
    assert shown_number(float(number), "#,##0.00%") == f"{sign}{rounded:,.2f}%"


@given(st.floats(), st.text('0#?.,%;"\\\\[]$ _*aG', max_size=80))
@settings(max_examples=examples(200), deadline=None)
def test_no_format_of_numbers_refuses_a_file(number: float, form: str) -> None:
    assert shown_number(number, form) is None or isinstance(shown_number(number, form), str)


def test_a_format_of_more_digits_than_programs_show_leaves_the_number_as_it_is() -> None:
    assert shown_number(1e14, f"0.{'0' * 50}") is None
    assert shown_number(5.0, "0" + "%" * 40) is None


def test_hidden_sheets_are_said_to_be_left_out(tmp_path: Path) -> None:
    source = source_of(tmp_path, "x.xlsx", workbook(Notes=[["seen"]], Hidden=[["unseen"]]))
    assert list(source) == [Document("x.xlsx", (Part("seen", {"section": ["Notes"]}),))]
    assert source.notices == {"x.xlsx": "hidden sheets are left out: Hidden"}
    (bad,) = source_of(tmp_path, "y.xlsx", zipped({"a": "b"}))
    assert isinstance(bad, BadRecord)


def test_text_boxes_of_sheets_are_read_and_comments_counted(tmp_path: Path) -> None:
    out = io.BytesIO(workbook(Notes=[["seen"]]))
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("xl/drawings/drawing9.xml", f'<x xmlns:a="{A}">{drawn("in a box")}</x>')
        space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        archive.writestr("xl/comments9.xml", f'<comments xmlns="{space}"><comment/><comment/></comments>')
    source = source_of(tmp_path, "x.xlsx", out.getvalue())
    (document,) = source
    assert isinstance(document, Document)
    assert document.parts == (Part("seen", {"section": ["Notes"]}), Part("in a box", {"kind": "text box"}))
    assert source.notices == {"x.xlsx": "2 comments are left out"}


def rewritten(data: bytes, rewrite: Callable[[bytes], bytes]) -> bytes:
    """A zip whose parts are rewritten."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return zipped({name: rewrite(archive.read(name)) for name in archive.namelist()})


def test_cells_beyond_the_range_that_a_sheet_names_are_read(tmp_path: Path) -> None:
    data = workbook(Notes=[["Due", "Monthly"], ["Paid", "Never"]])
    data = rewritten(data, lambda part: part.replace(b'<dimension ref="A1:B2"', b'<dimension ref="A1"'))
    assert [part.text for part in read(tmp_path, "x.xlsx", data).parts] == ["Due\tMonthly", "Paid\tNever"]


def test_a_workbook_of_strict_open_xml_is_read(tmp_path: Path) -> None:
    def strict(part: bytes) -> bytes:
        return re.sub(
            rb"http://schemas.openxmlformats.org/(?!package)(\w+)/2006/", rb"http://purl.oclc.org/ooxml/\1/", part
        )

    document = read(tmp_path, "x.xlsx", rewritten(workbook(Notes=[["Due", 2.5]]), strict))
    assert document.parts == (Part("Due\t2.5", {"section": ["Notes"]}),)


def test_a_workbook_without_a_sheet_that_is_found_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    (bad,) = source_of(
        tmp_path, "x.xlsx", rewritten(workbook(A=[["x"]]), lambda part: part.replace(b"/worksheet", b"/sheet"))
    )
    assert isinstance(bad, BadRecord)
    assert bad.lost


def test_rows_of_several_sheets_have_ids_of_their_own(tmp_path: Path) -> None:
    data = workbook(Jan=[["text", "n"], ["one\nmore", 1], [], ["two"]], Feb=[["text"], ["three"]])
    source = source_of(tmp_path, "x.xlsx", data, ReadOptions(row_ids=True))
    documents = [one for one in source if isinstance(one, Document)]
    assert [(one.id, one.text) for one in documents] == [
        ("x.xlsx:Jan:1", "one\nmore"), ("x.xlsx:Jan:2", "two"), ("x.xlsx:Feb:1", "three"),
    ]  # fmt: skip
    assert source.notices["x.xlsx"] == (
        "sheet Jan: id from the row number, text from text; typed columns: n integer; "
        "sheet Feb: id from the row number, text from text"
    )


def test_a_bad_row_of_a_sheet_is_named_by_its_number(tmp_path: Path) -> None:
    data = workbook(Jan=[["id", "text"], [1, "one\nand\rmore"], [], [None, "two"]])
    _, bad = source_of(tmp_path, "x.xlsx", data)
    assert isinstance(bad, BadRecord)
    assert (bad.where, bad.reason[:22]) == ("x.xlsx:4", "sheet Jan: a document ")


def test_escapes_of_cells_are_the_signs_that_they_stand_for(tmp_path: Path) -> None:
    data = rewritten(workbook(Notes=[["PLACE"]]), lambda part: part.replace(b"PLACE", b"Due_x000D_\nnow _x005F_x0041_"))
    assert read(tmp_path, "x.xlsx", data).text == "Due\r\nnow _x0041_"


def test_formulas_without_a_value_are_lost(tmp_path: Path) -> None:
    data = workbook(Notes=[["Due", '=A1&" x"', "=1+1"]], Hidden=[["=1+1"]])
    source = source_of(tmp_path, "x.xlsx", data)
    assert list(source) == [Document("x.xlsx", (Part("Due", {"section": ["Notes"]}),))]
    assert source.lost == {"x.xlsx": ("2 formulas without a stored value",)}
    stored = rewritten(data, lambda part: part.replace(b"<v />", b"<v>7</v>").replace(b"<v></v>", b"<v>7</v>"))
    source = source_of(tmp_path, "y.xlsx", stored)
    assert [one.text for one in source if isinstance(one, Document)] == ["Due\t7\t7"]
    assert source.lost == {}


P = "http://schemas.openxmlformats.org/presentationml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
LINKS = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'
LINK = f'<Relationship Id="{{}}" Type="{R}/{{}}" Target="{{}}"/>'
SHAPE = "<p:sp>{}<p:txBody>{}</p:txBody></p:sp>"


def slide(*shapes: str) -> str:
    return f'<p:sld xmlns:p="{P}" xmlns:a="{A}"><p:cSld><p:spTree>{"".join(shapes)}</p:spTree></p:cSld></p:sld>'


def drawn(text: str) -> str:
    return f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>"


def test_slides_are_read_in_their_order_with_notes(tmp_path: Path) -> None:
    cells = "".join(f"<a:tc><a:txBody>{drawn(text)}</a:txBody></a:tc>" for text in ("Due", "Monthly"))
    table = f"<p:graphicFrame><a:tbl><a:tr>{cells}</a:tr></a:tbl></p:graphicFrame>"
    number = '<p:nvSpPr><p:nvPr><p:ph type="sldNum"/></p:nvPr></p:nvSpPr>'
    order = '<p:sldId id="256" r:id="b"/><p:sldId id="257" r:id="a"/>'
    data = zipped(
        {
            "_rels/.rels": LINKS.format(LINK.format("m", "officeDocument", "ppt/presentation.xml")),
            "ppt/presentation.xml": f'<p:show xmlns:p="{P}" xmlns:r="{R}"><p:sldIdLst>{order}</p:sldIdLst></p:show>',
            "ppt/_rels/presentation.xml.rels": LINKS.format(
                LINK.format("a", "slide", "slides/slide1.xml") + LINK.format("b", "slide", "slides/slide2.xml")
            ),
            "ppt/slides/slide1.xml": slide(SHAPE.format("", drawn("Last"))),
            "ppt/slides/slide2.xml": slide(SHAPE.format("", drawn("First") + drawn("line")), table),
            "ppt/slides/_rels/slide2.xml.rels": LINKS.format(LINK.format("n", "notesSlide", "../notes.xml")),
            "ppt/notes.xml": slide(SHAPE.format("", drawn("Say hello")), SHAPE.format(number, drawn("7"))),
        }
    )
    assert read(tmp_path, "x.pptx", data).parts == (
        Part("First", {"slide": 1}),
        Part("line", {"slide": 1}),
        Part("Due\tMonthly", {"slide": 1}),
        Part("Say hello", {"slide": 1, "kind": "notes"}),
        Part("Last", {"slide": 2}),
    )


def show(text: str, comments: str) -> bytes:
    """A presentation of one slide with comments."""
    order = '<p:sldId r:id="a"/>'
    return zipped(
        {
            "ppt/presentation.xml": f'<p:show xmlns:p="{P}" xmlns:r="{R}"><p:sldIdLst>{order}</p:sldIdLst></p:show>',
            "ppt/_rels/presentation.xml.rels": LINKS.format(LINK.format("a", "slide", "slide1.xml")),
            "ppt/slide1.xml": slide(SHAPE.format("", drawn(text))),
            "ppt/_rels/slide1.xml.rels": LINKS.format(LINK.format("c", "comments", "comments/comment1.xml")),
            "ppt/comments/comment1.xml": comments,
        }
    )


OLD_COMMENTS = f'<p:cmLst xmlns:p="{P}"><p:cm><p:pos/><p:text>Too dear.</p:text></p:cm></p:cmLst>'
NEW = "http://schemas.microsoft.com/office/powerpoint/2018/8/main"
REPLY = f"<n:reply><n:txBody>{drawn('Why?')}</n:txBody></n:reply>"
COMMENT = f"<n:cm><n:replyLst>{REPLY}</n:replyLst><n:txBody>{drawn('Too dear.')}</n:txBody></n:cm>"
NEW_COMMENTS = f'<n:cmLst xmlns:n="{NEW}" xmlns:a="{A}">{COMMENT}</n:cmLst>'


@pytest.mark.parametrize(
    ("comments", "texts"), [(OLD_COMMENTS, ["Too dear."]), (NEW_COMMENTS, ["Too dear.", "Why?"])], ids=["old", "new"]
)
def test_comments_of_slides_are_counted_or_read(tmp_path: Path, comments: str, texts: list[str]) -> None:
    source = source_of(tmp_path, "x.pptx", show("Fees", comments))
    assert list(source) == [Document("x.pptx", (Part("Fees", {"slide": 1}),))]
    assert source.notices == {"x.pptx": f"{len(texts)} comments are left out (--comments reads them)"}
    document = read(tmp_path, "x.pptx", show("Fees", comments), ReadOptions(comments=True))
    assert document.parts[1:] == tuple(Part(text, {"slide": 1, "kind": "comment"}) for text in texts)


def test_an_object_of_a_slide_and_its_picture_count_once(tmp_path: Path) -> None:
    choices = "<mc:Choice><p:oleObj/></mc:Choice><mc:Fallback><p:oleObj><p:pic/></p:oleObj></mc:Fallback>"
    space = "http://schemas.openxmlformats.org/markup-compatibility/2006"
    data = show("Fees", OLD_COMMENTS)
    frame = f'<p:graphicFrame><mc:AlternateContent xmlns:mc="{space}">{choices}</mc:AlternateContent></p:graphicFrame>'
    data = rewritten(data, lambda part: part.replace(b"</p:spTree>", f"{frame}</p:spTree>".encode()))
    source = source_of(tmp_path, "x.pptx", data)
    assert len(list(source)) == 1
    assert source.lost == {"x.pptx": ("1 embedded object on slide 1",)}


ODF = "urn:oasis:names:tc:opendocument:xmlns"
SPACES = " ".join(f'xmlns:{name}="{ODF}:{kind}:1.0"' for name, kind in (
    ("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"),
    ("presentation", "presentation"),
))  # fmt: skip


def open_document(body: str, kind: str = "text") -> bytes:
    content = f"<office:x {SPACES}><office:body><office:{kind}>{body}</office:{kind}></office:body></office:x>"
    return zipped({"mimetype": f"application/vnd.oasis.opendocument.{kind}", "content.xml": content})


def test_an_open_document(tmp_path: Path) -> None:
    note = (
        '<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation>'
        "<text:note-body><text:p>see 3</text:p></text:note-body></text:note>"
    )
    body = f"""<text:tracked-changes><text:deletion><text:p>gone</text:p></text:deletion></text:tracked-changes>
    <text:h text:outline-level="1">Rent</text:h>
    <text:p>The<text:s text:c="2"/><text:span>fee</text:span>{note} is due.</text:p>
    <text:list><text:list-item><text:p>one</text:p></text:list-item></text:list>
    <table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:covered-table-cell/>
    <table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></table:table>
    <text:p><draw:frame><draw:text-box><text:p>box</text:p></draw:text-box></draw:frame></text:p>"""
    rent = {"section": ["Rent"]}
    assert read(tmp_path, "x.odt", open_document(body)).parts == (
        Part("Rent", rent),
        Part("The  fee is due.", rent),
        Part("see 3", {**rent, "kind": "footnote"}),
        Part("one", rent),
        Part("a\tb", rent),
        Part("box", {**rent, "kind": "text box"}),
    )


def test_drawn_shapes_of_an_open_document_are_text_boxes(tmp_path: Path) -> None:
    shape = f"<draw:custom-shape><text:p>Pay</text:p>{items('<text:p>now</text:p>')}</draw:custom-shape>"
    body = f"<text:p>The <draw:g>{shape}</draw:g>fee.</text:p>{shape}"
    boxes = (Part("Pay", {"kind": "text box"}), Part("now", {"kind": "text box"}))
    assert read(tmp_path, "x.odt", open_document(body)).parts == (Part("The fee."), *boxes, *boxes)


def test_texts_of_open_slides_are_of_no_kind_except_notes(tmp_path: Path) -> None:
    frame = "<draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>"
    shape = "<draw:rect><text:p>Shape</text:p></draw:rect>"
    notes = f"<presentation:notes>{frame.format('Said')}</presentation:notes>"
    body = f"<draw:page>{frame.format('Title')}{shape}{notes}</draw:page>"
    document = read(tmp_path, "x.odp", open_document(body, "presentation"))
    assert document.parts == (Part("Title"), Part("Shape"), Part("Said", {"kind": "notes"}))


def test_notes_and_comments_leave_a_row_of_an_open_document_whole(tmp_path: Path) -> None:
    note = "<text:note><text:note-body><text:p>see 3</text:p></text:note-body></text:note>"
    comment = "<office:annotation><text:p>why?</text:p></office:annotation>"
    cells = (f"<text:p>a{note}</text:p>", f"{comment}<text:p>b</text:p>")
    row = "".join(f"<table:table-cell>{each}</table:table-cell>" for each in cells)
    data = open_document(f"<table:table><table:table-row>{row}</table:table-row></table:table>")
    assert read(tmp_path, "x.odt", data, ReadOptions(comments=True)).parts == (
        Part("a\tb"),
        Part("see 3", {"kind": "footnote"}),
        Part("why?", {"kind": "comment"}),
    )


def test_controls_of_an_open_document_are_lost(tmp_path: Path) -> None:
    controls = (
        '<form:textarea form:current-value="typed"/><form:fixed-text form:label="Name"/><form:text/>'
        '<form:listbox><form:option form:label="A"/><form:option form:label="B"/></form:listbox>'
    )
    forms = f'<office:forms xmlns:form="{ODF}:form:1.0"><form:form>{controls}</form:form></office:forms>'
    source = source_of(tmp_path, "x.odt", open_document(f"{forms}<text:p>One.</text:p>"))
    assert [record.text for record in source if isinstance(record, Document)] == ["One."]
    assert source.lost == {"x.odt": ("3 form controls",)}


def styled(name: str, *levels: str) -> str:
    """A style of lists whose levels have attributes of numbers."""
    numbered = "".join(f'<text:list-level-style-number text:level="{n}" {each}/>' for n, each in enumerate(levels, 1))
    return f'<text:list-style style:name="{name}">{numbered}</text:list-style>'


def items(*inner: str, of: str = "") -> str:
    return f"<text:list {of}>{''.join(f'<text:list-item>{each}</text:list-item>' for each in inner)}</text:list>"


CLAUSES = styled(
    "L",
    'style:num-format="1" style:num-suffix="."',
    'style:num-format="a" style:num-prefix="(" style:num-suffix=")"',
    'style:num-format="i" text:display-levels="3" text:start-value="4"',
)
BULLETS = '<text:list-style style:name="B"><text:list-level-style-bullet text:level="1"/></text:list-style>'
LIST_BODIES = {
    "levels begin anew": (
        items("<text:p>x</text:p>" + items("<text:p>y</text:p>", "<text:p>z</text:p>"), "<text:p>w</text:p>"
              + items("<text:p>v</text:p>" + items("<text:p>u</text:p>")), of='text:style-name="L"'),
        ["1. x", "(a) y", "(b) z", "2. w", "(a) v", "2.a.iv u"],
    ),
    "one number an item": (items("<text:p>x</text:p><text:p>y</text:p>", of='text:style-name="L"'), ["1. x", "y"]),
    "bullets have none": (items("<text:p>x</text:p>", of='text:style-name="B"'), ["x"]),
    "an unknown style has none": (items("<text:p>x</text:p>", of='text:style-name="N"'), ["x"]),
    "another list begins anew": (
        items("<text:p>x</text:p>", of='text:style-name="L"') * 2, ["1. x", "1. x"],
    ),
    "a list goes on": (
        items("<text:p>x</text:p>", of='text:style-name="L" xml:id="a"')
        + items("<text:p>y</text:p>", of='text:style-name="L" text:continue-list="a"')
        + items("<text:p>z</text:p>", of='text:style-name="L" text:continue-numbering="true"'),
        ["1. x", "2. y", "3. z"],
    ),
    "a number is given": (
        '<text:list text:style-name="L"><text:list-header><text:p>h</text:p></text:list-header>'
        '<text:list-item text:start-value="7"><text:p>x</text:p></text:list-item>'
        "<text:list-item><text:p>y</text:p></text:list-item></text:list>",
        ["h", "7. x", "8. y"],
    ),
    "headings are numbered by the outline": (
        '<text:h text:outline-level="1">A</text:h><text:h text:outline-level="2">B</text:h>'
        '<text:h text:outline-level="2" text:is-list-header="true">C</text:h><text:h text:outline-level="2">D</text:h>',
        ["I A", "I.1 B", "C", "I.2 D"],
    ),
}  # fmt: skip
OUTLINE = """<text:outline-style><text:outline-level-style text:level="1" style:num-format="I"/>
<text:outline-level-style text:level="2" style:num-format="1" text:display-levels="2"/></text:outline-style>"""


@pytest.mark.parametrize(("body", "texts"), LIST_BODIES.values(), ids=LIST_BODIES)
def test_lists_of_open_documents_have_their_numbers(tmp_path: Path, body: str, texts: list[str]) -> None:
    space = 'xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"'
    content = f"<office:x {SPACES} {space}>{CLAUSES}<office:body>{body}</office:body></office:x>"
    styles = f"<office:x {SPACES} {space}>{OUTLINE}{BULLETS}</office:x>"
    document = read(tmp_path, "x.odt", zipped({"content.xml": content, "styles.xml": styles}))
    assert [part.text for part in document.parts] == texts


def test_ids_that_are_no_names_or_occur_twice_do_not_refuse_a_file(tmp_path: Path) -> None:
    body = '<text:p xml:id="1 2">One.</text:p><text:p xml:id="a">Two.</text:p><text:p xml:id="a">Three.</text:p>'
    assert read(tmp_path, "x.odt", open_document(body)).parts == (Part("One."), Part("Two."), Part("Three."))


def test_margins_of_all_pages_of_an_open_document_are_read_and_objects_counted(tmp_path: Path) -> None:
    body = "<text:p>One.<draw:frame><draw:object/></draw:frame></text:p>"
    content = f"<office:x {SPACES}><office:body><office:text>{body}</office:text></office:body></office:x>"
    shown_and_not = "".join(
        f'<style:{name} style:display="{display}"><text:p>{text}</text:p></style:{name}>'
        for name, display, text in (
            ("footer", "true", "Right foot"),
            ("footer-left", "true", "Left foot"),
            ("header", "true", "Head"),
            ("header-left", "false", "Not shown"),
            ("header-first", "true", "Head"),
        )
    )
    space = 'xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"'
    styles = f"<office:x {SPACES} {space}>{shown_and_not}</office:x>"
    source = source_of(tmp_path, "x.odt", zipped({"content.xml": content, "styles.xml": styles}))
    (document,) = source
    assert isinstance(document, Document)
    assert document.parts == (
        Part("Head", {"kind": "header"}),
        Part("One."),
        Part("Right foot", {"kind": "footer"}),
        Part("Left foot", {"kind": "footer"}),
    )
    assert source.lost == {"x.odt": ("1 embedded object",)}


def book(chapters: int, text: str = "<p>Text {}.</p>", spine: Sequence[int] | None = None) -> bytes:
    items = "".join(f'<item id="c{n}" href="text/{n}.xhtml"/>' for n in range(chapters))
    order = reversed(range(chapters)) if spine is None else spine
    references = "".join(f'<itemref idref="c{n}"/>' for n in order)
    title = '<title xmlns="http://purl.org/dc/elements/1.1/">T</title>'
    listed = f"<metadata>{title}</metadata><manifest>{items}</manifest><spine>{references}</spine>"
    package = f'<package xmlns="http://www.idpf.org/2007/opf">{listed}</package>'
    space = "urn:oasis:names:tc:opendocument:xmlns:container"
    container = f'<container xmlns="{space}"><rootfiles><rootfile full-path="OPS/p.opf"/></rootfiles></container>'
    texts = {
        f"OPS/text/{n}.xhtml": f"<html><body><h1>Chapter {n}</h1>{text.format(n)}</body></html>"
        for n in range(chapters)
    }
    return zipped({"META-INF/container.xml": container, "OPS/p.opf": package, **texts})


def test_a_book_is_read_in_the_order_of_its_spine(tmp_path: Path) -> None:
    document = read(tmp_path, "x.epub", book(2))
    assert [part.text for part in document.parts] == ["Chapter 1", "Text 1.", "Chapter 0", "Text 0."]
    assert document.parts[1].metadata == {"section": ["Chapter 1"]}
    assert document.metadata == {"title": "T"}


def test_a_chapter_that_a_book_names_often_is_read_once(tmp_path: Path) -> None:
    document = read(tmp_path, "x.epub", book(2, spine=[1, 0, 1, 1]))
    assert [part.text for part in document.parts] == ["Chapter 1", "Text 1.", "Chapter 0", "Text 0."]


def test_chapters_that_a_book_lacks_are_lost(tmp_path: Path) -> None:
    source = source_of(tmp_path, "x.epub", rewritten(book(2), lambda part: part.replace(b"text/1", b"text/7")))
    (document,) = source
    assert isinstance(document, Document)
    assert document.text == "Chapter 0\nText 0."
    assert source.lost == {"x.epub": ("1 chapter that the file lacks (OPS/text/7.xhtml)",)}


@pytest.mark.parametrize(
    ("page", "texts"),
    [
        ("<ol><li>x<ol type='a'><li>y</li></ol></li><li><p>z</p></li></ol>", ["1. x", "a. y", "2. z"]),
        ('<ol start="4" style="list-style: upper-roman"><li>x</li><li value="9">y</li></ol>', ["IV. x", "IX. y"]),
        ('<ol reversed=""><li>x</li><li>y</li></ol>', ["2. x", "1. y"]),
        ('<ol style="list-style: none"><li>x</li></ol><nav><ol><li>y</li></ol></nav><ul><li>z</li></ul>', list("xyz")),
    ],
)
def test_ordered_lists_of_books_have_their_numbers(tmp_path: Path, page: str, texts: list[str]) -> None:
    assert [part.text for part in read(tmp_path, "x.epub", book(1, page)).parts[1:]] == texts


def test_formats_without_a_reader_say_what_to_do(tmp_path: Path) -> None:
    (bad,) = source_of(tmp_path, "x.doc", b"x")
    assert bad == BadRecord(
        "x.doc:1", ".doc has no reader: convert it with LibreOffice: soffice --headless --convert-to docx"
    )


BOMB = zipped({name: bytes(300 * 2**20) for name in ("content.xml", "xl/workbook.xml")})


@pytest.mark.parametrize("name", ["x.odt", "x.xlsx"])
def test_bombs_are_refused(tmp_path: Path, name: str) -> None:
    (bad,) = source_of(tmp_path, name, BOMB)
    assert isinstance(bad, BadRecord)
    assert "unpacks to more" in bad.reason


def test_a_sheet_of_too_many_columns_is_refused(tmp_path: Path) -> None:
    (bad,) = source_of(tmp_path, "x.xlsx", zipped({"xl/worksheets/sheet1.xml": f"<row>{'<c/>' * 20_000}</row>"}))
    assert isinstance(bad, BadRecord)
    assert "a row has more than 16,384 cells" in bad.reason
