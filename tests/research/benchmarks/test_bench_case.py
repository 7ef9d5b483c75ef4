"""The corpus, the queries and the exact answers that engines are measured on."""

from itertools import pairwise

import numpy as np
import pytest

from app.cli.console import checked_store
from app.settings import Settings
from indexer.catalog.leases import lease
from indexer.catalog.publish import remove
from indexer.catalog.schema import upgrade
from indexer.errors import CollectionNotFound
from indexer.indexing.pipeline import IndexJob
from indexer.segments.merge import Source as Segments
from indexer.sources import Source
from indexer.types import Recipe
from models.encoders.registry import load_encoder
from models.errors import InvalidInput
from models.ops.quantization import dequantize
from models.text import units
from research.benchmarks import exact, passages
from research.benchmarks.case import TOP_K
from research.benchmarks.engines.scan import open_segments
from research.benchmarks.exact import exact_spans, maxsim
from research.benchmarks.phrases import LONGEST, SHORTEST, one_line, sample_phrases
from research.benchmarks.prepare import Plan, make_cases
from research.benchmarks.spans import count_spans, span_cosine, span_vectors
from tests.reference import RefPart, greedy, part_hits
from tests.research.benchmarks.conftest import write_source


def text_of(case) -> str:
    segments = open_segments(case.folder)
    return "\n".join(segment.long_text(0, segment.manifest.code_points) for segment in segments)


def ids_of(case) -> list[str]:
    return [id for segment in open_segments(case.folder) for id in segment.document_table.column("id").to_pylist()]


def all_live(case) -> list[Segments]:
    return [Segments(each, np.ones(each.manifest.documents, bool)) for each in open_segments(case.folder)]


def best_by_hand(case, query: np.ndarray) -> list[tuple[float, int, int]]:
    """The best spans that do not overlap, by loops over all parts."""
    found = []
    for first, last in pairwise(case.part_units.tolist()):
        part = RefPart(case.vectors(first, last), [])
        hits = part_hits(part, query, case.info.shortest, case.info.longest)
        found += [(cosine, first + span[0], first + span[1]) for cosine, span in hits]
    found.sort(key=lambda hit: (-hit[0], hit[1], hit[2]))
    return [found[number] for number in greedy([hit[1:] for hit in found])][:TOP_K]


def test_a_corpus_is_the_first_whole_documents(small) -> None:
    assert small.info.units == small.document_units[-1] == 600
    assert len(small.document_units) == 11
    assert len(small.part_units) == 31
    assert ids_of(small) == [f"d{number}" for number in range(10)]


def test_segments_have_about_the_wanted_size_and_follow_each_other(segmented) -> None:
    segments = open_segments(segmented.folder)
    assert [segment.manifest.units for segment in segments] == [300] * 6
    assert ids_of(segmented) == [f"d{number}" for number in range(30)]
    assert np.diff(segmented.part_units).tolist() == [20] * 90


def test_vectors_are_those_of_the_segments(segmented) -> None:
    stored = np.concatenate([dequantize(each.vectors, each.scales) for each in open_segments(segmented.folder)])
    np.testing.assert_array_equal(segmented.vectors(0, 1800), stored)
    np.testing.assert_array_equal(segmented.vectors(290, 610), stored[290:610])


def test_too_few_units_for_a_document(tmp_path, plain_settings) -> None:
    source = write_source(tmp_path / "source.ndjson", 3)
    with pytest.raises(InvalidInput, match="more than 50 units"):
        list(make_cases(Plan(str(source), (50,)), plain_settings, tmp_path / "work"))


def test_queries_do_not_stand_in_the_corpus(small) -> None:
    text = one_line(text_of(small)).casefold()
    assert len(set(small.queries.texts)) == 8
    for phrase in small.queries.texts:
        assert phrase.casefold() not in text
        assert SHORTEST <= len(units.split(phrase)) <= LONGEST


def test_every_size_is_asked_the_same(tmp_path, plain_settings) -> None:
    source = str(write_source(tmp_path / "source.ndjson", 30))
    one, two = make_cases(Plan(source, (1200, 300), queries=5), plain_settings, tmp_path)
    assert (one.info.units, two.info.units) == (300, 1200)
    assert one.queries.texts == two.queries.texts
    assert not [phrase for phrase in one.queries.texts if phrase.casefold() in one_line(text_of(two)).casefold()]


def test_a_phrase_that_stands_in_the_corpus_is_no_query(small) -> None:
    with pytest.raises(InvalidInput, match="Only 0 phrases"):
        sample_phrases(all_live(small), all_live(small), 1, seed=1)


def test_the_seed_decides_which_phrases(small, segmented) -> None:
    rest = all_live(segmented)[3:]
    first, again, other = (sample_phrases(rest, all_live(small), 5, seed) for seed in (1, 1, 2))
    assert first == again != other


def test_query_vectors_have_length_one_and_tokens_belong_to_their_query(small) -> None:
    queries = small.queries
    np.testing.assert_allclose(np.linalg.norm(queries.vectors, axis=1), 1, rtol=1e-5)
    assert all(len(tokens) for tokens in queries.tokens)
    part = queries[3:5]
    assert part.texts == queries.texts[3:5]
    np.testing.assert_array_equal(part.tokens[1], queries.tokens[4])


def test_exact_spans_are_those_of_naive_loops(small) -> None:
    for number in range(4):
        expected = best_by_hand(small, small.queries.vectors[number])
        assert small.exact_spans[number].tolist() == [[start, end] for _, start, end in expected]
        np.testing.assert_allclose(small.exact_cosines[number], [cosine for cosine, _, _ in expected], atol=1e-9)


def test_exact_spans_do_not_depend_on_how_many_starts_are_scored_at_once(segmented, monkeypatch) -> None:
    monkeypatch.setattr(exact, "_STARTS", 256)
    monkeypatch.setattr(exact, "_BLOCK", 64)
    spans, cosines = exact_spans(segmented, segmented.queries.vectors, TOP_K)
    np.testing.assert_array_equal(spans, segmented.exact_spans)
    np.testing.assert_allclose(cosines, segmented.exact_cosines, atol=1e-9)


def test_fewer_spans_than_wanted_are_filled_up(small) -> None:
    spans, cosines = exact_spans(small, small.queries.vectors[:1], 1000)
    there = spans[0, :, 0] >= 0
    assert 0 < there.sum() < 1000
    assert np.isneginf(cosines[0, ~there]).all()
    assert np.isfinite(cosines[0, there]).all()


def test_span_vectors_are_all_spans_once(small) -> None:
    spans, vectors = zip(*span_vectors(small), strict=True)
    stacked, query = np.concatenate(spans), small.queries.vectors[0]
    assert len(np.unique(stacked, axis=0)) == len(stacked) == count_spans(small)
    part = np.searchsorted(small.part_units, stacked[:, 0], side="right")
    assert (stacked[:, 1] <= small.part_units[part]).all()
    some = np.random.default_rng(1).integers(len(stacked), size=20)
    expected = [span_cosine(small, query, *stacked[row].tolist()) for row in some]
    np.testing.assert_allclose(np.concatenate(vectors)[some] @ query, expected, atol=1e-6)


def test_maxsim_is_the_mean_of_the_largest_cosines(segmented) -> None:
    scores = maxsim(segmented, list(segmented.queries.tokens[:3]))
    for query, passage in ((0, 0), (1, 44), (2, 89)):
        products = segmented.queries.tokens[query] @ segmented.passage_vectors(passage).T
        assert scores[query, passage] == pytest.approx(products.max(axis=1).mean(), abs=1e-6)


def test_passages_have_the_texts_of_their_units(segmented) -> None:
    bounds = passages.cut(segmented.part_units, longest=8)
    texts = passages.passage_texts(open_segments(segmented.folder), bounds)
    assert len(texts) == len(bounds) - 1 == 90 * 3
    assert [len(units.split(text)) for text in texts] == np.diff(bounds).tolist()
    assert "".join("".join(texts).split()) == "".join(text_of(segmented).split())


@pytest.fixture
def indexed(tmp_path, plain_settings) -> Settings:
    """A data folder with the collection ``calls`` of twelve documents, the second of which was deleted."""
    settings = plain_settings.model_copy(update={"data_dir": tmp_path / "data"})
    settings.data_dir.mkdir()
    upgrade(settings.catalog_url)
    encoder = load_encoder("hashing")
    with checked_store(settings) as store:
        collection = store.catalog.create_collection("calls", Recipe("hashing", encoder.fingerprint, encoder.dim))
        IndexJob(store, encoder, collection).run(Source(write_source(tmp_path / "source.ndjson", 12)))
        with lease(store.catalog, "calls") as held:
            remove(store.catalog, held, ["d1"])
    return settings


def test_a_collection_is_a_source_without_what_was_deleted(indexed, tmp_path) -> None:
    (case,) = make_cases(Plan("calls", (180,), queries=3), indexed, tmp_path / "work")
    assert ids_of(case) == ["d0", "d2", "d3"]
    assert case.document_units.tolist() == [0, 60, 120, 180]


def test_a_case_is_used_again_if_nothing_has_changed(indexed, tmp_path) -> None:
    plan = Plan("calls", (180,), queries=3)
    (first,) = make_cases(plan, indexed, tmp_path / "work")
    made = (first.folder / "case.json").stat().st_mtime_ns
    (second,) = make_cases(plan, indexed, tmp_path / "work")
    assert (second.folder / "case.json").stat().st_mtime_ns == made
    (third,) = make_cases(Plan("calls", (180,), queries=4), indexed, tmp_path / "work")
    assert (third.folder / "case.json").stat().st_mtime_ns != made
    assert len(third.queries) == 4
    with checked_store(indexed) as store, lease(store.catalog, "calls") as held:
        remove(store.catalog, held, ["d0"])
    (fourth,) = make_cases(plan, indexed, tmp_path / "work")
    assert "d0" not in ids_of(fourth)


def test_a_collection_that_is_not_there(indexed, tmp_path) -> None:
    with pytest.raises(CollectionNotFound, match="no collection 'mails'"):
        list(make_cases(Plan("mails", (180,)), indexed, tmp_path / "work"))
