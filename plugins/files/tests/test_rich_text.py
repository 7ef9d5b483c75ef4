"""Rich text: what Word shows of it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.sources import BadRecord, ReadOptions, Source
from models.types import Document, Part
from spanseek_files.rich_text.reader import RichText

FONTS = (
    r"{\fonttbl{\f0\fnil\fcharset0 Arial;}{\f1\fcharset204 Arial Cyr{\*\falt Arial};}{\f2\fnil\fcharset2 Symbol;}"
    r"{\f3\fcharset128 MS Gothic;}}"
)


def shown(text: str) -> list[Part]:
    return RichText(rf"{{\rtf1\ansi\ansicpg1252\deff0{FONTS}{text}}}").parts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"The fee is \b \'a35\b0 .\par Gr\u252?n.\par", ["The fee is £5.", "Grün."]),
        (r"{\f1 \'cf\'f0\'e8}{\f2 \'61 \'b0}{\f3 \'89\'f0\'96\'f1}", ["Приα °解約"]),
        (r"\u26085 ?\u-10179 ?\u-8704 ?{\uc2 \u233 \'8e\'a9.}", ["日😀é."]),
        (r"a\~b\_c\emdash d\ldblquote e\rdblquote\tab f\line g", ["a\u00a0b-c—d“e”\tf\ng"]),
        ("one\\\ntwo\\par", ["one", "two"]),
        (r"{\deleted gone}{\revised new}{\v secret words}{\v a\v0 b}", ["newb"]),
        (r'{\field{\*\fldinst HYPERLINK "x"}{\fldrslt link}}{\*\bkmkstart b}{\xe{\v entry}}', ["link"]),
        (r"{\pict\wmetafile8 0a0b}{\pict\bin3 {{{}a", ["a"]),
        (r"{\listtext\pard\plain\f2 \'b7\tab}bullet\par{\pntext\f0 2.1\tab}clause\par", ["bullet", "2.1 clause"]),
        (r"\pard\dropcapli3 O\par\pard nce upon a time", ["Once upon a time"]),
        (r"{\upr{ansi}{\*\ud{\u233?t\u233?}}}{\object{\result shown}}{\*\unknown x}", ["étéshown"]),
        (r"{\mmath{\*\moMath{\mr x=}{\mf{\mfPr}{\mnum 1}{\mden 2}}}}", ["x=12"]),
    ],
)  # fmt: skip
def test_a_construct(text: str, expected: list[str]) -> None:
    assert [part.text for part in shown(text)] == expected


def test_rows_are_parts_unless_a_cell_has_several_paragraphs() -> None:
    rows = (
        r"\trowd\cellx1\cellx2\pard\intbl A1\cell B1\cell\row"
        r"\trowd\pard\intbl A2 \par A3\cell{\nestcell}B2\nestcell{\*\nesttableprops\nestrow}\cell\row\pard end"
    )
    assert [part.text for part in shown(rows)] == ["A1\tB1", "A2", "A3", "B2", "end"]


def test_notes_and_boxes_follow_their_paragraph_and_margins_stand_around_the_body() -> None:
    parts = shown(
        r"{\header Draft\par}{\headerf Draft\par}{\footer {\b Page} 1\par}"
        r"One.{\footnote \pard A note.}{\footnote\ftnalt An endnote.} "
        r"{\shp{\*\shpinst{\sp{\sn a}{\sv b}}{\shptxt A box.\par}}{\shprslt A box.}}Two.\par Three."
    )
    assert parts == [
        Part("Draft", {"kind": "header"}),
        Part("One. Two."),
        Part("A note.", {"kind": "footnote"}),
        Part("An endnote.", {"kind": "endnote"}),
        Part("A box.", {"kind": "text box"}),
        Part("Three."),
        Part("Page 1", {"kind": "footer"}),
    ]


def source_of(folder: Path, data: str, options: ReadOptions | None = None) -> Source:
    (folder / "x.rtf").write_bytes(data.encode())
    return Source(folder / "x.rtf", options)


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    text = r"{\rtf1{\info{\title T}{\author A}}A{\v b c}{\*\annotation Why?}{\object{\*\objdata 00}}.}"
    source = source_of(tmp_path, text)
    assert [*source] == [Document("x.rtf", (Part("A."),), {"title": "T"})]
    assert source.lost == {"x.rtf": ("1 embedded object",)}
    said = "2 words of hidden text are left out; 1 comments are left out (--comments reads them)"
    assert source.notices == {"x.rtf": said}
    (document,) = source_of(tmp_path, text, ReadOptions(comments=True))
    assert isinstance(document, Document)
    assert document.parts == (Part("A."), Part("Why?", {"kind": "comment"}))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("no", "not rich text: it does not begin with {\\rtf"),
        ("{\\rtf1" + "{" * 2_500_000, "it has more than 2,500,000 groups and control words"),
        ("{\\rtf1 {\\pict 00}}", "the file holds no text"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, data: str, reason: str) -> None:
    (bad,) = source_of(tmp_path, data)
    assert isinstance(bad, BadRecord)
    assert bad.reason == reason


WORDS = st.text("abcé日😀{}\\", min_size=1, max_size=6)


def written(text: str) -> str:
    """A text as writers of rich text escape it."""
    units = text.encode("utf-16-le")
    codes = [int.from_bytes(units[at : at + 2], "little") for at in range(0, len(units), 2)]
    signs = (chr(code) if code < 128 else f"\\u{code - 0x10000 if code > 0x7FFF else code}?" for code in codes)
    return "".join(f"\\{sign}" if sign in "{}\\" else sign for sign in signs)


@given(st.lists(st.lists(WORDS, min_size=1, max_size=4), min_size=1, max_size=6), st.data())
def test_random_files_give_back_their_words(paragraphs: list[list[str]], data: st.DataObject) -> None:
    wrappers = ("%s", "{\\b %s}", "{\\field{\\*\\fldinst X \\\\h}{\\fldrslt %s}}", "{%s{\\v hidden}}", "{\\pict 0f}%s")
    source = "".join(
        "".join(data.draw(st.sampled_from(wrappers)) % written(word) for word in words) + "\\par\r\n"
        for words in paragraphs
    )
    assert [part.text for part in shown(source)] == ["".join(words) for words in paragraphs]
