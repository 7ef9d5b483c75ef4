"""Spans of texts are those that indexing the texts and searching them gives: the same hits, to the last bit of a score.

So they are where both encode with the same network, as the hashing encoder does. Torch, which indexes, and the network
for queries differ by rounding, and so do scores.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.collections.bounds import span_bounds
from app.encoders.default_calibrations import default_calibration
from app.encoders.encoders import Encoders
from app.requests import SearchRequest, SpanChoice
from app.search.answers import Hit
from app.search.mode import load_modes
from app.search.service import SearchService
from app.texts.requests import SpansRequest
from app.texts.span_answers import TextHit
from app.texts.spans import SpanService, slices
from indexer.engine.query import Filter
from indexer.indexing.pipeline import IndexJob
from indexer.types import Recipe
from indexer.words.recipe import with_words
from models.encoders.base import Encoder
from models.encoders.calibrations import DefaultCalibration
from models.encoders.hashing import HashingEncoder
from models.encoders.slice import SliceEncoder
from models.ops.span_score import SpanScore
from models.types import Document, Part
from research.evaluation.searching import scratch_store
from tests.examples import examples
from tests.strategies import texts
from tests.tiny_bert import PROSE, save_tiny_bert

SCORE = SpanScore(0.2, (-0.04, -0.02, 0, 0, 0, 0), (-0.03, -0.01, 0, 0, 0, 0))
TEXTS = [
    "I couldn't cancel my subscription, and the bot was rude. Please cancel it!",
    "Hello there.",
    "",
    "😀 The parcel never came; I want my money back.\nCancel my subscription.",
    "cancel my subscription " * 60,
]
PHRASES = ("cancel my subscription", "the parcel", "money")


class Calibrated(Encoders):
    """Encoders of which all have the same default calibration."""

    def default_calibration(self, name: str) -> DefaultCalibration:
        encoder = self.load(name)
        fitted_to = SCORE.fingerprint_of(encoder.fingerprint).removeprefix(f"{encoder.fingerprint}+")
        return DefaultCalibration(((0.0, 0.0), (0.7, 0.2), (1.0, 1.0)), "beta", 9, 1, "made up", {}, None, fitted_to)


def encoders_of(encoder: Encoder, kind: type[Encoders] = Encoders) -> Encoders:
    return kind.of({"hashing": encoder}, SCORE)


def service_of(encoders: Encoders) -> SpanService:
    return SpanService(encoders, "hashing", load_modes(encoders)["best_span"])


@contextmanager
def indexed(encoders: Encoders, documents: tuple[Document, ...], spans: SpanChoice) -> Iterator[SearchService]:
    """A service over a collection ``c`` of the documents, with their numbers as metadata."""
    encoder = encoders.load("hashing")
    bounds = span_bounds(1, 20)
    if spans.boundaries == "any":
        bounds = span_bounds(spans.min_units or 1, spans.max_units or max(20, spans.min_units or 1))
    recipe = with_words(Recipe("hashing", encoder.fingerprint, encoder.dim, bounds))
    with scratch_store() as store:
        target = store.catalog.create_collection("c", recipe, default_calibration(encoders, recipe))
        numbered = (
            replace(document, id=f"{number:04}", metadata={**document.metadata, "n": number})
            for number, document in enumerate(documents)
        )
        IndexJob(store, encoder, target, segment_units=50).run(numbered)
        yield SearchService(store, load_modes(encoders))


def expected_hits(encoders: Encoders, request: SpansRequest) -> list[list[tuple[Hit, ...]]]:
    """The hits of every phrase in every text, by searching an index."""
    options = {
        field.name: getattr(request, field.name)
        for field in fields(SpansRequest)
        if field.name not in ("phrases", "texts", "limit")
    }
    with indexed(encoders, request.texts, request.spans) as service:
        return [
            [
                service.search(
                    SearchRequest("c", text=phrase, top_k=request.limit, filter=Filter({"n": number}), **options)
                )[0].hits
                for phrase in request.phrases
            ]
            for number in range(len(request.texts))
        ]


def as_hit(hit: TextHit, number: int) -> Hit:
    values = {field.name: getattr(hit, field.name) for field in fields(Hit)}
    return Hit(**values | {"document_id": f"{number:04}", "metadata": {**hit.metadata, "n": number}})


def check(encoders: Encoders, request: SpansRequest) -> int:
    answer = service_of(encoders).find(request)
    assert [result.id for result in answer.results] == [text.id for text in request.texts]
    for number, (result, of_phrases) in enumerate(zip(answer.results, expected_hits(encoders, request), strict=True)):
        for phrase, hits in enumerate(of_phrases):
            assert tuple(as_hit(hit, number) for hit in result.hits if hit.phrase == phrase) == hits
        assert [hit.raw for hit in result.hits] == sorted((hit.raw for hit in result.hits), reverse=True)
    return sum(len(result.hits) for result in answer.results)


def documents(*contents: str | list[str]) -> tuple[Document, ...]:
    parts = (content if isinstance(content, list) else [content] for content in contents)
    return tuple(Document(f"t{number}", tuple(map(Part, of_text))) for number, of_text in enumerate(parts))


REQUESTS = {
    "plain": SpansRequest(PHRASES, documents(*TEXTS)),
    "many": SpansRequest(PHRASES, documents(*TEXTS), limit=100),
    "cosine": SpansRequest(PHRASES, documents(*TEXTS), ranking="cosine"),
    "threshold": SpansRequest(PHRASES, documents(*TEXTS), limit=50, threshold=0.6),
    "raw": SpansRequest(PHRASES, documents(*TEXTS), limit=50, threshold=0.85, threshold_on="raw"),
    "explained": SpansRequest(PHRASES, documents(*TEXTS), context=12, explain=True, offset_unit="utf16"),
    "lengths": SpansRequest(PHRASES, documents(*TEXTS), spans=SpanChoice(2, 3), limit=9),
    "long": SpansRequest(PHRASES, documents(*TEXTS), spans=SpanChoice(25), limit=9),
    "clauses": SpansRequest(PHRASES, documents(*TEXTS), spans=SpanChoice(boundaries="clause"), limit=9),
    "sentences": SpansRequest(PHRASES, documents(*TEXTS), spans=SpanChoice(2, 90, "sentence"), limit=9),
    "parts": SpansRequest(
        PHRASES, documents(*TEXTS[:3], ["", TEXTS[3]], []), spans=SpanChoice(boundaries="part"), offset_unit="byte"
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.parametrize("kind", [Encoders, Calibrated])
def test_spans_are_those_of_a_search_to_the_last_bit(name: str, kind: type[Encoders]) -> None:
    assert check(encoders_of(HashingEncoder(), kind), REQUESTS[name])


@settings(max_examples=examples(25), deadline=None)
@given(
    st.lists(st.lists(texts, max_size=3), min_size=1, max_size=5),
    st.lists(st.sampled_from(["cancel", "abc d", "😀 é", "你好 x_1"]), min_size=1, max_size=4, unique=True),
    st.integers(1, 9),
    st.sampled_from([SpanChoice(), SpanChoice(2, 4), SpanChoice(boundaries="clause"), SpanChoice(boundaries="part")]),
)
@pytest.mark.ci("long texts")
def test_spans_of_awkward_texts_are_those_of_a_search(
    contents: list[list[str]], phrases: list[str], limit: int, spans: SpanChoice
) -> None:
    request = SpansRequest(tuple(phrases), documents(*contents), limit, spans=spans)
    check(encoders_of(HashingEncoder(window=64)), request)


def test_scores_are_calibrated_by_the_default_of_the_encoder() -> None:
    request = SpansRequest(("my money",), documents("money"), 1)
    plain, calibrated = (
        service_of(encoders_of(HashingEncoder(), kind)).find(request) for kind in (Encoders, Calibrated)
    )
    (raw,), (score,) = plain.results[0].hits, calibrated.results[0].hits
    assert raw.raw == score.raw == raw.score
    assert score.score == pytest.approx(0.2 * raw.raw / 0.7 if raw.raw < 0.7 else 0.2 + 0.8 * (raw.raw - 0.7) / 0.3)
    assert (plain.threshold.calibration, calibrated.threshold.calibration) == (None, "default")
    # It was fitted to the span score, so that the cosine alone has none.
    cosine = replace(request, ranking="cosine")
    assert service_of(encoders_of(HashingEncoder(), Calibrated)).find(cosine).threshold.calibration is None


def test_words_are_found_as_literally_as_in_an_index() -> None:
    """Case, punctuation and white space between the words of an occurrence do not matter in either."""
    contents = documents("Please CANCEL, my  subscription!", "cancel your subscription", ["cancel my", "subscription"])
    for limit in (1, 20):
        check(encoders_of(HashingEncoder()), SpansRequest(("Cancel my subscription",), contents, limit, context=5))


@pytest.mark.ci("long texts")
def test_slices_do_not_change_the_answer() -> None:
    service = service_of(encoders_of(HashingEncoder()))
    contents = documents(*chain.from_iterable([TEXTS] * 60))
    assert len(list(slices(contents))) > 3
    many = service.find(SpansRequest(PHRASES, contents))
    few = service.find(SpansRequest(PHRASES, contents[: len(TEXTS)]))
    for number, result in enumerate(many.results):
        same = few.results[number % len(TEXTS)].hits
        assert [replace(hit, document_id="") for hit in result.hits] == [replace(hit, document_id="") for hit in same]


def test_scores_of_a_network_are_those_of_torch_up_to_rounding() -> None:
    from models.backbones.torch_network import load_backbone

    with TemporaryDirectory() as folder:
        encoder = SliceEncoder(load_backbone(str(save_tiny_bert(Path(folder))), device="cpu"))
        assert encoder.query_network is not None
        encoders = encoders_of(encoder)
        request = SpansRequest(("nobody saw the cat", "rain"), documents(PROSE, PROSE[30:], PROSE * 8), limit=1)
        answer = service_of(encoders).find(request)
        for result, of_phrases in zip(answer.results, expected_hits(encoders, request), strict=True):
            for phrase, (best,) in enumerate(of_phrases):
                (hit,) = (hit for hit in result.hits if hit.phrase == phrase)
                assert hit.raw == pytest.approx(best.raw, abs=1e-3)
