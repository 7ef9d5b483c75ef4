"""Random trees of Word's elements, in all nestings, against the words that Word shows of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.sources import BadRecord, Source
from models.types import Document
from tests.examples import examples
from tests.word_files import box, cell, control, field, marked, paragraph, row, run, table, vml_box, word_file

Wrap = Callable[[str], str]


class Drawn(NamedTuple):
    """An element, the words that are shown in its place, and whether it holds a text box, and one in a table.

    Of a box in a table it depends on the cells of its row whether it stands behind its paragraph or the row.
    """

    xml: str
    words: tuple[str, ...]
    has_box: bool = False
    has_box_in_table: bool = False

    def within(self, wrap: Wrap) -> "Drawn":
        """The element within another one that shows it."""
        return self._replace(xml=wrap(self.xml))


# What Word shows, and what it does not.
SHOWN: Final[tuple[Wrap, ...]] = (
    control,
    lambda inner: marked("ins", inner),
    lambda inner: marked("moveTo", inner),
    lambda inner: f'<w:smartTag w:uri="u" w:element="place">{inner}</w:smartTag>',
    lambda inner: f'<w:customXml w:element="x"><w:customXmlPr/>{inner}</w:customXml>',
    lambda inner: f'<w:fldSimple w:instr=" REF x ">{inner}</w:fldSimple>',
    lambda inner: f'<w:hyperlink w:anchor="x">{inner}</w:hyperlink>',
    lambda inner: f'<w:bdo w:val="ltr">{inner}</w:bdo>',
    lambda inner: field(" REF x ", inner),
)
GONE: Final[tuple[Wrap, ...]] = (
    lambda inner: marked("del", inner),
    lambda inner: marked("moveFrom", inner),
)
AROUND_BLOCKS: Final[tuple[Wrap, ...]] = (
    control,
    lambda inner: f'<w:customXml w:element="x">{inner}</w:customXml>',
)

word = st.text("abcdefghij", min_size=1, max_size=5)
leaf = word.map(lambda text: Drawn(run(f" {text} "), (text,)))
hidden = word.map(lambda text: Drawn(run(f" {text} ", "<w:vanish/>"), ()))


def joined(items: list[Drawn]) -> Drawn:
    """Elements behind each other."""
    return Drawn(
        "".join(each.xml for each in items),
        sum((each.words for each in items), ()),
        any(each.has_box for each in items),
        any(each.has_box_in_table for each in items),
    )


def wrapped(inner: st.SearchStrategy[list[Drawn]]) -> st.SearchStrategy[Drawn]:
    """Elements within another one."""
    shown = st.builds(lambda items, wrap: joined(items).within(wrap), inner, st.sampled_from(SHOWN))
    gone = st.builds(lambda items, wrap: Drawn(wrap(joined(items).xml), ()), inner, st.sampled_from(GONE))
    return shown | gone


inline = st.recursive(
    leaf | leaf | hidden,
    lambda of: wrapped(st.lists(of, min_size=1, max_size=3)),
    max_leaves=8,
)


plain = st.lists(inline, max_size=3).map(lambda items: joined(items).within(paragraph))


def in_table(rows: list[list[list[Drawn]]]) -> Drawn:
    """A table of rows of cells of paragraphs and tables; a paragraph ends every cell, as Word wants it."""
    xml = table(*(row(*(cell(joined(of).xml, paragraph()) for of in cells)) for cells in rows))
    held = joined([each for cells in rows for of in cells for each in of])
    return Drawn(xml, held.words, held.has_box, held.has_box)


def nested(of: st.SearchStrategy[Drawn]) -> st.SearchStrategy[Drawn]:
    """Blocks within tables, content controls and text boxes."""
    blocks = st.lists(of, min_size=1, max_size=2)

    def boxed(items: list[Drawn], wrap: Wrap, before: list[Drawn]) -> Drawn:
        return joined([*before, joined(items).within(wrap)]).within(paragraph)._replace(has_box=True)

    return (
        st.lists(st.lists(blocks, min_size=1, max_size=2), min_size=1, max_size=2).map(in_table)
        | st.builds(lambda items, wrap: joined(items).within(wrap), blocks, st.sampled_from(AROUND_BLOCKS))
        | st.builds(boxed, blocks, st.sampled_from((box, vml_box)), st.lists(inline, max_size=2))
    )


bodies = st.lists(st.recursive(plain, nested, max_leaves=6), min_size=1, max_size=4).map(joined)


@given(body=bodies, strict=st.booleans())
@settings(max_examples=examples(80), deadline=None)
def test_the_words_of_any_tree_are_those_that_are_shown(
    tmp_path_factory: pytest.TempPathFactory, body: Drawn, strict: bool
) -> None:
    path: Path = tmp_path_factory.mktemp("word") / "x.docx"
    path.write_bytes(word_file(body.xml, strict=strict))
    source = Source(path)
    (record,) = source
    assert not source.lost
    if isinstance(record, BadRecord):
        assert "holds no text" in record.reason
        assert body.words == ()
        return
    assert isinstance(record, Document)
    words = tuple(record.text.split())
    assert sorted(words) == sorted(body.words)
    assert words == body.words or body.has_box_in_table
