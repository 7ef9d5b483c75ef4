"""Word files are read as Word shows them: one construct a test."""

import zlib
from pathlib import Path

import pytest

from indexer.sources import BadRecord, ReadOptions, Source
from models.types import Document, Part
from tests.memory import growth_of
from tests.word_files import (
    box,
    cell,
    control,
    field,
    marked,
    paragraph,
    row,
    run,
    table,
    vml_box,
    word_file,
    zipped,
)

S, E = run("The fee "), run(" is due.")


def source_of(folder: Path, data: bytes, options: ReadOptions | None = None) -> Source:
    (folder / "x.docx").write_bytes(data)
    return Source(folder / "x.docx", options)


def read(folder: Path, body: str, **parts: str) -> Document:
    (document,) = source_of(folder, word_file(body, parts))
    assert isinstance(document, Document), document
    return document


def texts(document: Document) -> list[str]:
    return [part.text for part in document.parts]


CHANGED = '<w:rPr><w:{} w:id="1" w:author="A" w:date="2026-01-01T00:00:00Z"/></w:rPr>'
EQUATION = (
    "<m:oMath><m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f>"
    "<m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath>"
)
INLINE = {
    "insertion": (marked("ins", run("WORD")), "WORD"),
    "deletion": (marked("del", run("WORD", tag="delText")), ""),
    "insertion that was deleted": (marked("ins", marked("del", run("WORD", tag="delText"))), ""),
    "moved to": (marked("moveTo", run("WORD")), "WORD"),
    "moved from": (marked("moveFrom", run("WORD")), ""),
    "content control": (control(run("WORD")), "WORD"),
    "content control in one": (control(control(marked("ins", run("WORD")))), "WORD"),
    "smart tag": (f'<w:smartTag w:uri="u" w:element="place">{run("WORD")}</w:smartTag>', "WORD"),
    "custom XML": (f'<w:customXml w:element="x"><w:customXmlPr/>{run("WORD")}</w:customXml>', "WORD"),
    "simple field": (f'<w:fldSimple w:instr=" MERGEFIELD fee ">{run("WORD")}</w:fldSimple>', "WORD"),
    "field": (field(" REF x ", run("WORD")), "WORD"),
    "field in a field": (field(f" IF {field(' REF x ', run('NO'))} ", run("WORD")), "WORD"),
    "field in a result": (field(" REF x ", run("one ") + field(" REF y ", run("two"))), "one two"),
    "field that never ends": ('<w:r><w:fldChar w:fldCharType="begin"/></w:r>' + run("WORD"), "WORD"),
    "button": (
        f'<w:r><w:fldChar w:fldCharType="begin"/></w:r>{run(" MACROBUTTON x WORD ", tag="instrText")}'
        '<w:r><w:fldChar w:fldCharType="end"/></w:r>',
        "WORD",
    ),
    "drop-down list": (
        '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:ddList><w:result w:val="1"/><w:listEntry w:val="no"/>'
        '<w:listEntry w:val="WORD"/></w:ddList></w:ffData></w:fldChar></w:r>'
        '<w:r><w:fldChar w:fldCharType="end"/></w:r>',
        "WORD",
    ),
    "link": (f'<w:hyperlink w:anchor="x">{run("WORD")}</w:hyperlink>', "WORD"),
    "link in an insertion": (marked("ins", f'<w:hyperlink w:anchor="x">{run("WORD")}</w:hyperlink>'), "WORD"),
    "insertion in a link": (f'<w:hyperlink w:anchor="x">{marked("ins", run("WORD"))}</w:hyperlink>', "WORD"),
    "direction": (f'<w:bdo w:val="rtl"><w:dir w:val="rtl">{run("WORD")}</w:dir></w:bdo>', "WORD"),
    "equation": (EQUATION, "(a+b)/2x^2"),
    "equation of its own": (f"<m:oMathPara>{EQUATION}</m:oMathPara>", "(a+b)/2x^2"),
    "symbol": ('<w:r><w:sym w:font="Symbol" w:char="F061"/></w:r>', "\u03b1"),
    "letter of a symbol font": (run("\uf062", '<w:rFonts w:ascii="Symbol"/>'), "β"),
    "tab": ("<w:r><w:tab/></w:r>", "\t"),
    "line break": ("<w:r><w:br/></w:r>", "\n"),
    "no-break hyphen": (run("co") + "<w:r><w:noBreakHyphen/></w:r>" + run("op"), "co-op"),
    "soft hyphen": (run("WO") + "<w:r><w:softHyphen/></w:r>" + run("RD"), "WORD"),
    "hidden": (run("WORD", "<w:vanish/>"), ""),
    "not hidden": (run("WORD", '<w:vanish w:val="0"/>'), "WORD"),
    "ruby": (
        f"<w:r><w:ruby><w:rubyPr/><w:rt>{run('kan')}</w:rt><w:rubyBase>{run('漢')}</w:rubyBase></w:ruby></w:r>",
        "漢(kan)",
    ),
}


@pytest.mark.parametrize(("xml", "shown"), INLINE.values(), ids=INLINE)
@pytest.mark.parametrize("strict", [False, True], ids=["transitional", "strict"])
def test_a_construct_within_a_paragraph(tmp_path: Path, xml: str, shown: str, strict: bool) -> None:
    (document,) = source_of(tmp_path, word_file(paragraph(S, xml, E), strict=strict))
    assert document == Document("x.docx", (Part(f"The fee {shown} is due."),))


NOTE = '<w:{0}s><w:{0} w:id="2">{1}</w:{0}></w:{0}s>'
P = paragraph(run("WORD"))
BLOCKS = {
    "content control": (control(P), ["WORD"]),
    "row in a content control": (table(row(cell(paragraph(S))), control(row(cell(P)))), ["The fee", "WORD"]),
    "cell in a content control": (table(row(cell(paragraph(S)), control(cell(P)))), ["The fee\tWORD"]),
    "custom XML": (f'<w:customXml w:element="x">{P}</w:customXml>', ["WORD"]),
    "nested table": (table(row(cell(paragraph(S), table(row(cell(P))), paragraph()))), ["The fee", "WORD"]),
    "text box": (paragraph(S, vml_box(P)), ["The fee", "WORD"]),
    "text box in two forms": (paragraph(S, box(P, P)), ["The fee", "WORD", "WORD"]),
    "only a text box": (paragraph(box(P)), ["WORD"]),
    "text box with a table": (paragraph(box(table(row(cell(P), cell(P))))), ["WORD\tWORD"]),
    "wide cell": (table(row(cell(P, properties='<w:gridSpan w:val="3"/>'))), ["WORD"]),
    "tall cell": (
        table(
            row(cell(P, properties='<w:vMerge w:val="restart"/>'), cell(paragraph(run("b")))),
            row(cell(P, properties="<w:vMerge/>"), cell(paragraph(run("c")))),
        ),
        ["WORD\tb", "c"],
    ),
    "deleted row": (table(row(cell(P)), row(cell(P), properties="<w:del/>")), ["WORD"]),
    "cells of several paragraphs": (table(row(cell(P, P), cell(P))), ["WORD"] * 3),
    "deleted paragraph mark": (
        paragraph(run("one "), properties=CHANGED.format("del")) + paragraph(run("two")),
        ["one two"],
    ),
    "hidden paragraph mark": (
        paragraph(run("one "), properties="<w:rPr><w:vanish/></w:rPr>") + paragraph(run("two")),
        ["one two"],
    ),
    "drop cap": (
        paragraph(run("W"), properties='<w:framePr w:dropCap="drop"/>') + paragraph(run("ORD")),
        ["WORD"],
    ),
    "field across paragraphs": (
        '<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r>'
        + run("TOC", tag="instrText")
        + '<w:r><w:fldChar w:fldCharType="separate"/></w:r>'
        + run("one")
        + "</w:p>"
        + paragraph(run("two"), '<w:r><w:fldChar w:fldCharType="end"/></w:r>'),
        ["one", "two"],
    ),
}


@pytest.mark.parametrize(("xml", "shown"), BLOCKS.values(), ids=BLOCKS)
def test_a_construct_of_paragraphs(tmp_path: Path, xml: str, shown: list[str]) -> None:
    assert texts(read(tmp_path, paragraph(run("First.")) + xml + paragraph(run("Last.")))) == [
        "First.",
        *shown,
        "Last.",
    ]


@pytest.mark.parametrize("kind", ["footnote", "endnote"])
def test_notes_follow_their_paragraph(tmp_path: Path, kind: str) -> None:
    body = paragraph(S, f'<w:r><w:{kind}Reference w:id="2"/></w:r>', E) + paragraph(run("Next."))
    notes = f'<w:{kind} w:type="separator" w:id="0">{paragraph(run("NO"))}</w:{kind}><w:{kind} w:id="2">{P}</w:{kind}>'
    document = read(tmp_path, body, **{f"{kind}s": notes})
    assert document.parts == (Part("The fee  is due."), Part("WORD", {"kind": kind}), Part("Next."))


STYLES = """<w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/></w:style>
<w:style w:type="paragraph" w:styleId="H2"><w:basedOn w:val="H1"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Secret"><w:rPr><w:vanish/></w:rPr></w:style>
<w:style w:type="character" w:styleId="Back"><w:rPr><w:vanish/></w:rPr></w:style>"""


def styled(style: str, *inner: str) -> str:
    return paragraph(*inner, properties=f'<w:pStyle w:val="{style}"/>')


def test_headings_are_the_sections_of_what_follows_them(tmp_path: Path) -> None:
    body = [styled("H1", run("Rent")), styled("H2", run("Reviews")), P, styled("H1", run("Repairs")), P]
    document = read(tmp_path, "".join(body), styles=STYLES)
    assert [(part.text, part.metadata["section"]) for part in document.parts] == [
        ("Rent", ["Rent"]),
        ("Reviews", ["Rent", "Reviews"]),
        ("WORD", ["Rent", "Reviews"]),
        ("Repairs", ["Repairs"]),
        ("WORD", ["Repairs"]),
    ]


def test_styles_hide_text_and_two_show_it_again(tmp_path: Path) -> None:
    back = run("shown", '<w:rStyle w:val="Back"/>')
    body = P + styled("Secret", run("hidden words"), back) + paragraph(run("hidden", '<w:rStyle w:val="Back"/>'))
    source = source_of(tmp_path, word_file(body, {"styles": STYLES}))
    (document,) = source
    assert isinstance(document, Document)
    assert texts(document) == ["WORD", "shown"]
    assert source.notices == {"x.docx": "3 words of hidden text are left out"}
    assert not source.lost


NUMBERING = """<w:abstractNum w:abstractNumId="0">
<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="upperRoman"/><w:lvlText w:val="Article %1."/></w:lvl>
<w:lvl w:ilvl="1"><w:start w:val="1"/><w:isLgl/><w:lvlText w:val="%1.%2"/></w:lvl>
<w:lvl w:ilvl="2"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="(%3)"/></w:lvl>
<w:lvl w:ilvl="3"><w:start w:val="1"/><w:numFmt w:val="bullet"/><w:lvlText w:val="-"/></w:lvl></w:abstractNum>
<w:num w:numId="5"><w:abstractNumId w:val="0"/></w:num>
<w:num w:numId="6"><w:abstractNumId w:val="0"/>
<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num>"""


def test_clauses_have_their_numbers(tmp_path: Path) -> None:
    def item(level: int, list_id: int = 5) -> str:
        return paragraph(
            run("x"), properties=f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{list_id}"/></w:numPr>'
        )

    items = [item(level) for level in (0, 1, 1, 2, 2, 3, 0, 1, 2)] + [item(0, 6), item(0)]
    numbers = ["Article I.", "1.1", "1.2", "(a)", "(b)", "", "Article II.", "2.1", "(a)", "Article I.", "Article II."]
    assert texts(read(tmp_path, "".join(items), numbering=NUMBERING)) == [f"{number} x".strip() for number in numbers]


def test_headers_and_footers_are_read_once_and_if_they_are_shown(tmp_path: Path) -> None:
    def section(*references: str, properties: str = "") -> str:
        return f"<w:sectPr>{''.join(references)}{properties}</w:sectPr>"

    def reference(kind: str, id: str, of: str = "default") -> str:
        return f'<w:{kind}Reference w:type="{of}" r:id="{id}"/>'

    first = section(reference("header", "header1"), reference("header", "header2", "first"))
    last = section(reference("header", "header3"), reference("footer", "footer1"), properties="<w:titlePg/>")
    body = paragraph(run("One."), properties=first) + paragraph(run("Two.")) + last
    same = paragraph(run("Draft"))
    document = read(tmp_path, body, header1=same, header2=P, header3=same, footer1=paragraph(run("Page 1")))
    assert document.parts == (
        Part("Draft", {"kind": "header"}),
        Part("One."),
        Part("Two."),
        Part("Page 1", {"kind": "footer"}),
    )


def test_comments_are_read_if_they_are_wanted(tmp_path: Path) -> None:
    comment = '<w:r><w:commentReference w:id="1"/></w:r>'
    data = word_file(paragraph(S, comment, E), {"comments": f'<w:comment w:id="1">{P}</w:comment>'})
    source = source_of(tmp_path, data)
    assert list(source) == [Document("x.docx", (Part("The fee  is due."),))]
    assert source.notices == {"x.docx": "1 comments are left out (--comments reads them)"}
    (document,) = source_of(tmp_path, data, ReadOptions(comments=True))
    assert isinstance(document, Document)
    assert document.parts[1] == Part("WORD", {"kind": "comment"})


def test_newer_charts_are_read_rather_than_what_stands_for_them(tmp_path: Path) -> None:
    """The text for programs without such charts is not read, nor are texts that their formats repeat."""
    choice = '<mc:Choice Requires="cx1"><w:drawing><cx:chart r:id="chart1"/></w:drawing></mc:Choice>'
    fallback = f"<mc:Fallback>{run('This chart is not available.')}</mc:Fallback>"
    format = "<cx:txPr><a:p><a:r><a:t>Fees</a:t></a:r></a:p></cx:txPr>"
    title = f"<cx:tx><cx:txData><cx:v>Fees</cx:v></cx:txData></cx:tx>{format}"
    rich = "<cx:tx><cx:rich><a:p><a:r><a:t>by month</a:t></a:r></a:p></cx:rich></cx:tx>"
    labels = '<cx:strDim><cx:lvl><cx:pt idx="0">May</cx:pt></cx:lvl></cx:strDim>'
    numbers = '<cx:numDim><cx:lvl><cx:pt idx="0">7</cx:pt></cx:lvl></cx:numDim>'
    body = paragraph(S, f"<w:r><mc:AlternateContent>{choice}{fallback}</mc:AlternateContent></w:r>")
    document = read(tmp_path, body, chart1=f"{labels}{numbers}<cx:title>{title}</cx:title>{rich}")
    assert [(part.text, part.metadata) for part in document.parts[1:]] == [
        (text, {"kind": "chart"}) for text in ("May", "Fees", "by month")
    ]


def test_diagrams_and_charts_are_read(tmp_path: Path) -> None:
    drawn = "<w:r><w:drawing><a:graphic><a:graphicData>{}</a:graphicData></a:graphic></w:drawing></w:r>"
    body = paragraph(S, drawn.format('<dgm:relIds r:dm="diagram1"/>'), drawn.format('<c:chart r:id="chart1"/>'))
    texts = "<a:p><a:r><a:t>Step </a:t></a:r><a:r><a:t>one</a:t></a:r></a:p>"
    labels = "<c:strCache><c:pt><c:v>Sales</c:v></c:pt></c:strCache><c:numCache><c:pt><c:v>7</c:v></c:pt></c:numCache>"
    document = read(tmp_path, body, diagram1=texts, chart1=labels)
    assert document.parts[1:] == (Part("Step one", {"kind": "diagram"}), Part("Sales", {"kind": "chart"}))


def test_categories_of_a_chart_are_read_once_at_all_their_levels(tmp_path: Path) -> None:
    def cache(name: str, *labels: str) -> str:
        points = "".join(f'<c:pt idx="{at}"><c:v>{label}</c:v></c:pt>' for at, label in enumerate(labels))
        return f"<c:{name}>{points}</c:{name}>"

    def series(name: str, categories: str) -> str:
        values = f"<c:val><c:numRef>{cache('numCache', '7', '8')}</c:numRef></c:val>"
        title = f"<c:tx><c:strRef>{cache('strCache', name)}</c:strRef></c:tx>"
        return f"<c:ser>{title}<c:cat>{categories}</c:cat>{values}</c:ser>"

    levels = cache("lvl", "London", "Leeds") + cache("lvl", "Kingdom")
    places = f"<c:multiLvlStrRef><c:multiLvlStrCache>{levels}</c:multiLvlStrCache></c:multiLvlStrRef>"
    years = cache("numCache", "2025", "2026").replace("<c:pt", "<c:formatCode>General</c:formatCode><c:pt", 1)
    days = years.replace("General", "m/d/yyyy")
    charts = series("Rent", places) + series("Costs", places) + series("Fees", years) + series("Days", days)
    drawing = '<a:graphic><a:graphicData><c:chart r:id="chart1"/></a:graphicData></a:graphic>'
    body = paragraph(S, f"<w:r><w:drawing>{drawing}</w:drawing></w:r>")
    document = read(tmp_path, body, chart1=charts)
    assert [part.text for part in document.parts[1:]] == [
        *("Rent", "London", "Leeds", "Kingdom", "Costs", "Fees", "2025", "2026", "Days")
    ]


def test_what_is_lost_is_counted(tmp_path: Path) -> None:
    lost = '<w:r><w:object><o:OLEObject ProgID="Excel.Sheet.12"/></w:object></w:r>'
    source = source_of(tmp_path, word_file(paragraph(S, lost, lost) + '<w:altChunk r:id="x"/>'))
    assert list(source) == [Document("x.docx", (Part("The fee"),))]
    assert source.lost == {"x.docx": ("2 embedded objects", "1 imported file")}


def test_the_title_is_metadata(tmp_path: Path) -> None:
    (document,) = source_of(tmp_path, word_file(P, title="Lease"))
    assert document == Document("x.docx", (Part("WORD"),), {"title": "Lease"})


def test_a_book_is_not_refused_for_its_many_paragraphs(tmp_path: Path) -> None:
    document = read(tmp_path, paragraph(run("One.")) * 30_000)
    assert len(document.parts) == 15_000
    assert document.text.count("One.") == 30_000


def deep(levels: int) -> str:
    return f"{'<w:sdt><w:sdtContent>' * levels}{P}{'</w:sdtContent></w:sdt>' * levels}"


REFUSED = {
    "no zip": (b"PK no", "not a zipped file"),
    "encrypted": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512), "encrypted"),
    "another zip": (zipped({"a.txt": "x"}), "not a Word file"),
    "no text": (word_file(paragraph()), "holds no text"),
    "broken": (zipped({"word/document.xml": "<w:document>"}), "not XML"),
    "zip bomb": (zipped({"word/document.xml": bytes(100 * 2**20)}), "unpacks to more"),
    "bomb of tags": (zipped({"word/document.xml": b"<a>" + b"<b/>" * 4_000_000 + b"</a>"}), "tags and attributes"),
    "bomb of levels": (word_file(deep(5_000)), "not XML that can be read"),
    "bomb of entities": (
        zipped({"word/document.xml": '<!DOCTYPE a [<!ENTITY b "x"><!ENTITY c "&b;&b;">]><a>&c;</a>'}),
        "holds no text",
    ),
}


@pytest.mark.parametrize(("data", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    (bad,) = source_of(tmp_path, data)
    assert isinstance(bad, BadRecord)
    assert reason in bad.reason
    assert bad.lost == (reason != "holds no text")


def refuse_all(folder: Path) -> None:
    for data, _ in REFUSED.values():
        (bad,) = source_of(folder, data)
        assert isinstance(bad, BadRecord)


def test_what_cannot_be_read_takes_bounded_memory(tmp_path: Path) -> None:
    assert growth_of(refuse_all, tmp_path) < 500_000_000


def test_a_damaged_entry_is_refused(tmp_path: Path) -> None:
    data = bytearray(word_file(P * 200))
    at = data.index(b"word/document.xml") + 60
    data[at] ^= 0xFF
    (bad,) = source_of(tmp_path, bytes(data))
    assert isinstance(bad, BadRecord)
    assert "not a Word file that can be read" in bad.reason or zlib.error.__name__ in bad.reason
