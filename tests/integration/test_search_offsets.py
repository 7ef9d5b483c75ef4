"""Whatever stands in a document: every hit says exactly what stands there, in every unit of counting."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.search.answers import Hit
from models.text import units
from models.types import Document, Part, SpanBounds
from tests.examples import examples
from tests.strategies import AWKWARD, texts
from tests.workspace import Workspace, document

LONG = "x" * 150
parts = st.lists(texts | st.just(LONG), max_size=4)
corpora = st.lists(parts, min_size=1, max_size=4)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace(tmp_path_factory.mktemp("offsets")) as made:
        yield made


@settings(max_examples=examples(25))
@given(corpora, texts, st.sampled_from([SpanBounds(), SpanBounds(1, 1), SpanBounds(2, 3)]))
@example([[LONG, "\r", "\0"], ["👩‍👩‍👧\r\n שלום \u0301é"], []], "שלום", SpanBounds())
@example([["".join(AWKWARD)] * 2, [" ".join(AWKWARD)]], "中文", SpanBounds())
def test_offsets_are_right(workspace: Workspace, corpus: list[list[str]], phrase: str, bounds: SpanBounds) -> None:
    documents = {f"d{number}": document(f"d{number}", *texts) for number, texts in enumerate(corpus)}
    name = f"c{len(workspace.catalog.collections())}"
    workspace.index(documents.values(), name=name, bounds=bounds)
    vector = tuple(np.random.default_rng(7).normal(size=workspace.encoder.dim).tolist())
    queries: list[dict[str, object]] = [{"vector": vector}]
    if len(units.split(phrase)) in range(1, workspace.encoder.window + 1):
        queries.append({"text": phrase})
    for query in queries:
        hits = workspace.search(collection=name, top_k=200, context=7, explain=True, **query)
        for hit in hits:
            _check(hit, documents[hit.document_id], bounds)
        _check_apart(hits)
        for unit, encoding, size in (("utf16", "utf-16-le", 2), ("byte", "utf-8", 1)):
            translated = workspace.search(collection=name, top_k=200, offset_unit=unit, **query)
            assert len(translated) == len(hits)
            for hit in translated:
                data = documents[hit.document_id].text.encode(encoding)
                assert data[hit.start * size : hit.end * size].decode(encoding) == hit.text


def _check(hit: Hit, document: Document, bounds: SpanBounds) -> None:
    assert hit.text == document.text[hit.start : hit.end]
    begin, around = next(
        (begin, part) for begin, part in _places(document) if begin <= hit.start < hit.end <= begin + len(part.text)
    )
    in_part = units.split(around.text) + begin
    inside = in_part[(in_part[:, 0] < hit.end) & (in_part[:, 1] > hit.start)]
    assert (inside[0, 0], inside[-1, 1]) == (hit.start, hit.end)
    assert bounds.shortest <= len(inside) <= bounds.longest
    assert 0 <= hit.raw <= 1
    assert hit.score == hit.raw
    assert hit.context is not None
    assert hit.context.text[hit.context.start : hit.context.end] == hit.text
    assert hit.context.text in around.text
    assert hit.explanation is not None
    assert sum(unit.contribution for unit in hit.explanation.units) == pytest.approx(hit.explanation.cosine, abs=1e-4)
    assert hit.raw == pytest.approx((1 + hit.explanation.cosine) / 2, abs=1e-6)
    assert [(unit.start, unit.end) for unit in hit.explanation.units] == list(map(tuple, inside.tolist()))
    assert all(unit.text == document.text[unit.start : unit.end] for unit in hit.explanation.units)


def _places(document: Document) -> Iterator[tuple[int, Part]]:
    start = 0
    for part in document.parts:
        yield start, part
        start += len(part.text) + 1


def _check_apart(hits: tuple[Hit, ...]) -> None:
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    order = [(-hit.explanation.cosine, hit.document_id, hit.start) for hit in hits if hit.explanation]
    assert order == sorted(order)
    taken = sorted((hit.document_id, hit.start, hit.end) for hit in hits)
    for (one, _, end), (other, start, _) in pairwise(taken):
        assert one != other or end <= start


NEEDLE = "the silver needle lies here."
LINES = {
    "many signs": "Grüße 👩‍👩‍👧 from the haystack, line by line.\r\n",
    "long words": f"{'hay' * 20} {'straw' * 12}\n",
}


def _check_long(workspace: Workspace, line: str, size: int) -> None:
    """One part of ``size`` letters and more, with a needle near its end, and a word of 100,000 letters."""
    text = line * (size // len(line)) + NEEDLE + "\n" + line
    name = f"c{len(workspace.catalog.collections())}"
    report = workspace.index([document("long", text), document("word", "w" * 100_000)], name=name)
    assert report.documents == 2
    for unit, encoding, width in (("codepoint", "utf-32-le", 4), ("utf16", "utf-16-le", 2), ("byte", "utf-8", 1)):
        (hit,) = workspace.search("silver needle", collection=name, top_k=1, offset_unit=unit, context=20)
        data = text.encode(encoding)[hit.start * width : hit.end * width]
        assert hit.text == "silver needle" == data.decode(encoding)
        assert hit.context is not None
        assert "the silver needle lies here." in hit.context.text
    (hit,) = workspace.search("w" * 64, collection=name, top_k=1)
    assert (hit.document_id, set(hit.text), hit.start % 64) == ("word", {"w"}, 0)


@pytest.mark.ci("many documents")
@pytest.mark.parametrize(("line", "size"), [("many signs", 200_000), ("long words", 5_000_000)])
def test_a_long_document_and_a_long_word(workspace: Workspace, line: str, size: int) -> None:
    _check_long(workspace, LINES[line], size)


@pytest.mark.ci("many documents")
@pytest.mark.parametrize(("line", "size"), [("many signs", 1_000_000), ("long words", 15_000_000)])
def test_a_very_long_document(workspace: Workspace, line: str, size: int) -> None:
    _check_long(workspace, LINES[line], size)
