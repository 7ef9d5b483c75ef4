"""Random Word files, nested in all ways: the words that Word shows, and no others, are read, in their order."""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from spanseek_files.packages import Package
from spanseek_files.word.reader import Word
from tests.examples import examples
from tests.word_files import box, cell, control, field, marked, paragraph, row, run, table, vml_box, word_file


@dataclass(frozen=True)
class Piece:
    """A piece of a file and what a person sees of it: ``shown`` in its place, ``beside`` after its paragraph."""

    xml: str
    shown: str = ""
    beside: str = ""


def joined(pieces: list[Piece]) -> Piece:
    return Piece(*("".join(getattr(piece, name) for piece in pieces) for name in ("xml", "shown", "beside")))


def around(before: str, after: str) -> object:
    return lambda piece: Piece(f"{before}{piece.xml}{after}", piece.shown, piece.beside)


def tracked(kind: str) -> object:
    before, after = marked(kind, "|").split("|")
    return around(before, after)


WORDS = st.integers(0, 10**9).map(lambda number: f"w{number} ")
SHOWN = WORDS.map(lambda word: Piece(run(word), word))
HIDDEN = WORDS.map(lambda word: Piece(run(word, "<w:vanish/>")))


def boxed(make: object) -> object:
    return lambda piece: Piece(make(paragraph(piece.xml)), "", piece.shown + piece.beside)


def within_fields(piece: Piece) -> Piece:
    return Piece(field(" REF x ", piece.xml), piece.shown, piece.beside)


def removed(kind: str) -> object:
    make = tracked(kind)
    return lambda piece: Piece(make(piece).xml)


INLINES = st.recursive(
    st.one_of(SHOWN, HIDDEN),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(joined),
        *(
            inner.map(each)
            for each in (
                tracked("ins"),
                tracked("moveTo"),
                removed("del"),
                removed("moveFrom"),
                around(*control("|").split("|")),
                around('<w:hyperlink w:anchor="x">', "</w:hyperlink>"),
                around('<w:smartTag w:element="x">', "</w:smartTag>"),
                around('<w:customXml w:element="x"><w:customXmlPr/>', "</w:customXml>"),
                around('<w:fldSimple w:instr=" REF x ">', "</w:fldSimple>"),
                around("<w:bdo>", "</w:bdo>"),
                within_fields,
                boxed(box),
                boxed(vml_box),
            )
        ),
    ),
    max_leaves=8,
)


def whole(piece: Piece) -> Piece:
    """A block: what stands beside its text follows it."""
    return Piece(paragraph(piece.xml), piece.shown + piece.beside)


def in_rows(cells: list[list[Piece]]) -> Piece:
    xml = table(*(row(*(cell(each.xml) for each in of_row)) for of_row in cells))
    return Piece(xml, "".join(each.shown for of_row in cells for each in of_row))


PARAGRAPHS = INLINES.map(whole)
BLOCKS = st.recursive(
    PARAGRAPHS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(joined),
        st.lists(st.lists(inner, min_size=1, max_size=3), min_size=1, max_size=3).map(in_rows),
        inner.map(around(*control("|").split("|"))),
        inner.map(around('<w:customXml w:element="x">', "</w:customXml>")),
        inner.map(tracked("ins")),
    ),
    max_leaves=6,
)


def read(body: str, *, strict: bool) -> list[str]:
    word = Word(Package(word_file(body, strict=strict)))
    return [piece for part in word.parts() for piece in part.text.split()]


@settings(max_examples=examples(200), deadline=None)
@given(BLOCKS, st.booleans())
def test_the_words_that_word_shows_are_read(block: Piece, strict: bool) -> None:
    found = read(block.xml, strict=strict)
    assert sorted(found) == sorted(block.shown.split())


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(PARAGRAPHS, max_size=4).map(joined))
def test_paragraphs_are_read_in_their_order(block: Piece) -> None:
    assert read(block.xml, strict=False) == block.shown.split()
