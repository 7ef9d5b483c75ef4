"""Both looks, side by side: on contrast lines, on the sample corpus, and on phrases without a match."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import get_args

import numpy as np

from app.requests import VERIFIED, SearchRequest
from app.search.answers import Hit
from app.search.mode import available_modes
from app.search.service import SearchService
from app.search.verification.ordering import blended, rank_key
from app.texts.spans import SpanService
from indexer.types import Recipe
from models.verifier.types import LIKELY, Pair
from models.verifier.verifier import Verifier
from research.evaluation.contrast import ContrastReport, Half, area, half_of, report
from research.evaluation.corpus import Corpus, DocumentSpan
from research.evaluation.queries import Query
from research.evaluation.searching import search_in_batches
from research.evaluation.significance import Comparison, Correlations, compare, correlations
from research.evaluation.span_retrieval import span_of
from research.evaluation.sts_b_context import Row
from research.training.verifier_data import Example
from research.training.verifier_scale import Pairs, text_pairs

_BEST = 20


@dataclass(frozen=True, slots=True)
class SecondLookFigures:
    """The figures of one half: contrast lines by both looks; phrases of the sample that have a right hit first.

    ``likely`` phrases have a right hit that is likely, and ``wrong`` counts likely hits that are not right.
    ``answered`` of the ``unmatched`` phrases have a likely hit all the same.
    """

    first: ContrastReport
    second: ContrastReport
    phrases: int
    first_by_first: int
    first_by_second: int
    likely: int
    wrong: int
    unmatched: int
    answered: int


def evaluate(verifier: Verifier, pairs: Pairs) -> Mapping[Half, SecondLookFigures]:
    """The figures of the half that chooses, and of the one that is reported."""
    lines = [line for line, _ in pairs.lines]
    first = np.array([[pair.similarity for pair in judged] for _, judged in pairs.lines])
    second = np.array([_probabilities(verifier, judged) for _, judged in pairs.lines])
    halves = [half for half in get_args(Half) if half != "all"]
    figures = {}
    for half in halves:
        sample = [
            (np.array(right), np.array(_probabilities(verifier, found)), _first_of(verifier, found))
            for phrase, found, right in pairs.sample
            if any(right) and half_of(phrase) == half
        ]
        unmatched = [found for phrase, found in pairs.unmatched if half_of(phrase) == half]
        unmatched += [found for phrase, found, right in pairs.sample if not any(right) and half_of(phrase) == half]
        figures[half] = SecondLookFigures(
            report(lines, first, 0.5, half),
            report(lines, second, 0.5, half),
            len(sample),
            sum(bool(right[0]) for right, _, _ in sample),
            sum(bool(right[shown]) for right, _, shown in sample),
            sum(bool((right & (probabilities >= LIKELY)).any()) for right, probabilities, _ in sample),
            sum(int((~right & (probabilities >= LIKELY)).sum()) for right, probabilities, _ in sample),
            len(unmatched),
            sum(any(each.is_likely for each in verifier.judge(found)) for found in unmatched),
        )
    return figures


@dataclass(frozen=True, slots=True)
class LabelledFigures:
    """Of labelled hits: how well matches are told from hits that differ or are unrelated, and shares called likely."""

    phrases: int
    hits: int
    auc: float
    likely: Mapping[str, float]


def labelled_figures(verifier: Verifier, lists: Sequence[Sequence[Example]]) -> LabelledFigures:
    """The figures of the lists of hits of ``research.training.labelled_hits``. Hits that match partly have no AUC."""
    examples = [example for hits in lists for example in hits]
    probabilities = np.array(_probabilities(verifier, [example.pair for example in examples]))
    labels = np.array([example.verdict or "partly" for example in examples])
    wrong = np.isin(labels, ("differs", "unrelated"))
    likely = {label: float((probabilities[labels == label] >= LIKELY).mean()) for label in np.unique(labels).tolist()}
    return LabelledFigures(
        len(lists), len(examples), area(probabilities[labels == "match"], probabilities[wrong]), likely
    )


def _first_of(verifier: Verifier, pairs: Sequence[Pair]) -> int:
    """The place of the hit that a search shows first."""
    keys = [
        rank_key(pair.similarity >= 1, said.is_likely, said.probability, pair.similarity)
        for pair, said in zip(pairs, verifier.judge(pairs), strict=True)
    ]
    return keys.index(min(keys))


def _probabilities(verifier: Verifier, pairs: Sequence[Pair]) -> list[float]:
    return [judged.probability for judged in verifier.judge(pairs)]


@dataclass(frozen=True, slots=True)
class BorderFigures:
    """Of ``right`` first hits, those that overlap a planted paraphrase, the number that are marked ``as_planted``.

    Texts are compared without case and punctuation around them.
    """

    right: int
    as_planted: int


def borders(service: SearchService, corpus: Corpus, phrases: Sequence[Query]) -> Mapping[Half, BorderFigures]:
    """The figures of phrases of the sample, by the defaults of a search."""
    marked: dict[Half, list[bool]] = {"chooses": [], "reported": []}
    for phrase in (each for each in phrases if each.gold):
        (answer,) = service.search(SearchRequest("sample", text=phrase.text, top_k=1, verify=VERIFIED))
        for hit in answer.hits:
            over = [each for each in phrase.gold if _overlap(hit, each)]
            if over:
                texts = {_bare(corpus.text(each)) for each in over}
                marked[half_of(phrase.text)].append(_bare(str(hit.text)) in texts)
    return {half: BorderFigures(len(of_half), sum(of_half)) for half, of_half in marked.items()}


def medians(service: SearchService, collection: str, recipe: Recipe, phrases: Sequence[str]) -> Mapping[str, float]:
    """The median of the best hits' probabilities in every mode of a collection: one scale has one for all.

    ``phrases`` are those that the collection does not hold.
    """
    found = {}
    for name in available_modes(service.modes, recipe):
        plain = SearchRequest(collection, mode=name, verify=VERIFIED, top_k=VERIFIED)
        answers = search_in_batches(service, [replace(plain, text=phrase) for phrase in phrases])
        best = [max((hit.probability or 0.0 for hit in hits), default=0.0) for hits in answers]
        found[name] = round(median(best), 3)
    return found


def _overlap(hit: Hit, gold: DocumentSpan) -> bool:
    found = span_of(hit)
    is_near = found.span.start < gold.span.end and gold.span.start < found.span.end
    return found.document_id == gold.document_id and is_near


def _bare(text: str) -> str:
    """A text without case and punctuation around it.

    >>> _bare("The parcel never came. ")
    'the parcel never came'
    """
    return text.casefold().strip(".,;:!?\"'()- \n")


@dataclass(frozen=True, slots=True)
class GradedFigures:
    """Correlations of grades with scores of a passage's best hit: the first look's, the probability, and its log odds.

    ``ranked`` is what hits are ordered by, which has both; ``gain`` is that of it over the first look.
    """

    first: Correlations
    probability: Correlations
    log_odds: Correlations
    ranked: Correlations
    gain: Comparison


def follow_grades(service: SpanService, verifier: Verifier, rows: Sequence[Row]) -> GradedFigures:
    """The figures of rows of STS-B-Context. Of a passage's hits the greatest value counts."""
    pairs = [text_pairs(service, row.query, [row.passage], _BEST)[0] for row in rows]
    first = np.array([max(pair.similarity for pair in found) for found in pairs])
    # As POST /spans rounds it, but never without a finite logarithm.
    said = [_probabilities(verifier, found) for found in pairs]
    second = np.array([max(of) for of in said])
    ranked = np.array(
        [
            max(blended(probability, pair.similarity) for probability, pair in zip(of, found, strict=True))
            for of, found in zip(said, pairs, strict=True)
        ]
    )
    odds = np.log(np.maximum(second, 1e-4) / np.maximum(1 - second, 1e-4))
    grades = np.array([row.gold for row in rows])
    first_, second_, odds_, ranked_ = (correlations(scores, grades) for scores in (first, second, odds, ranked))
    return GradedFigures(first_, second_, odds_, ranked_, compare(ranked, first, grades))
