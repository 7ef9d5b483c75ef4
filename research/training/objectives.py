"""Objectives that a step of SLICE minimises: losses of a draw of texts, and of triplets; weighted, by name."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from models.backbones.torch_network import Backbone
from models.types import CharSpan
from research.training.batches import Draw, draw_spans
from research.training.config import SliceConfig
from research.training.loop import Losses
from research.training.losses import (
    added_by_length,
    best_span_cosines,
    border_loss,
    correlation_loss,
    distillation_loss,
    paper_loss,
    paper_loss_in_batch,
    similarity_loss,
    span_sums,
    twin_loss,
    without_matches,
)
from research.training.own_texts import Triplet
from research.training.reading import alone, first_windows, unit_vectors

POSITIVE = 0.7  # graded pairs from here on are matches for the paper's loss


@dataclass(frozen=True, slots=True)
class ReadDraw:
    """The texts of a draw as vectors: units in context, the spans drawn, and what the frozen backbone makes of these.

    Texts are the queries, their contexts, others, short ones, and twins if they are asked for: the phrases of the
    contexts, alone. Of queries, short texts and twins the one span is the whole, of any other text ``per_text`` spans
    are drawn.
    """

    units: Float[Tensor, "texts units dim"]
    counts: Int[Tensor, " texts"]
    spans: Float[Tensor, "spans dim"]
    taught: Float[Tensor, "spans dim"]
    queries: int
    per_text: int

    @property
    def of_twins(self) -> slice:
        """The spans of the twins."""
        return slice(len(self.spans) - self.queries, len(self.spans))

    @property
    def of_contexts(self) -> slice:
        """The spans drawn of the queries' contexts."""
        return slice(self.queries, self.queries + self.queries * self.per_text)


@dataclass(frozen=True, slots=True)
class Teachers:
    """Readers of spans alone: of short texts the frozen backbone, which these are to stay as near to as they were."""

    spans: Backbone
    short: Backbone

    def alone(self, texts: Sequence[str], short: range) -> Float[Tensor, "texts dim"]:
        """Return the teachers' vectors of texts, of which those in a range of numbers are short ones."""
        taught = alone(self.spans, texts)
        if short and self.short is not self.spans:
            taught[short.start : short.stop] = alone(self.short, texts[short.start : short.stop])
        return taught


def read_draw(student: Backbone, teachers: Teachers, drawn: Draw, config: SliceConfig, step: int) -> ReadDraw:
    """Read every text once with the student, and spans of all of them with the teachers."""
    rng = random.Random(f"spans/{config.seed}/{step}")  # noqa: S311  sampling, not secrets
    count = len(drawn.queries)
    twins = [sample.phrase.of(sample.text) for sample in drawn.contexts] if config.weights.twins else []
    samples = [
        *((query, CharSpan(0, len(query))) for query in drawn.queries),
        *((sample.text, sample.phrase) for sample in (*drawn.contexts, *drawn.others)),
        *((text, CharSpan(0, len(text))) for text in (*drawn.short, *twins)),
    ]
    whole = len(drawn.short) + len(twins)
    spans_of_text = [1] * count + [config.spans] * (len(drawn.contexts) + len(drawn.others)) + [1] * whole
    joined = first_windows(student, [text for text, _ in samples])
    where, texts = [], []
    for number, ((text, phrase), of_text) in enumerate(zip(samples, joined, strict=True)):
        for span in draw_spans(of_text, phrase, spans_of_text[number], config.bounds, rng):
            where.append((number, span.start, span.end))
            texts.append(text[of_text.spans[span.start, 0] : of_text.spans[span.end - 1, 1]])
    vectors, counts = unit_vectors(student, joined)
    sums = span_sums(vectors, torch.tensor(where, device=vectors.device))
    begin = len(texts) - whole
    taught = teachers.alone(texts, range(begin, begin + len(drawn.short)))
    return ReadDraw(vectors, counts, sums, taught.to(vectors.device), count, config.spans)


@dataclass(frozen=True, slots=True)
class Search:
    """Cosines with which queries found their matches: with the best span of every context, and with the spans drawn.

    ``inside`` and ``inside_taught`` are of the spans drawn of the query's own context, the match first, as the
    student and as the teacher has them. ``negatives`` are ``best`` less the contexts that match as well as their own.
    """

    best: Float[Tensor, "queries queries"]
    inside: Float[Tensor, "queries spans"]
    inside_taught: Float[Tensor, "queries spans"]
    negatives: Float[Tensor, "queries queries"]
    narrow_best: Float[Tensor, "queries queries"]


def search(read: ReadDraw, projection: Float[Tensor, "dim narrow"], config: SliceConfig) -> Search:
    """Search every context for every query, in full length and projected."""
    count, contexts = read.queries, read.of_contexts
    queries, taught = read.spans[:count], read.taught[:count]
    units, counts = read.units[count : 2 * count], read.counts[count : 2 * count]
    added = added_by_length(read.counts[:count], config.discount, config.bounds)
    best = best_span_cosines(queries, units, counts, config.bounds, added)
    inside = _own_cosines(read.spans[:count], read.spans[contexts])
    inside_taught = _own_cosines(taught, read.taught[contexts])
    matches_taught = read.taught[contexts][:: config.spans]
    negatives = without_matches(best, taught @ matches_taught.T)
    narrow_best = best_span_cosines(queries @ projection, units @ projection, counts, config.bounds, added)
    return Search(best, inside, inside_taught, negatives, narrow_best)


def draw_losses(
    read: ReadDraw, scores: Sequence[float], projection: Float[Tensor, "dim narrow"], config: SliceConfig
) -> Losses:
    """Self-distillation of all spans, in full length and projected; and of graded pairs, if there are any, the search.

    Autograd adds gradients up in the order of the graph. So what is computed here and in :func:`search` keeps its order
    (all cosines, then the losses) and its slices: in another, weights would differ in their last bits.
    """
    searched = search(read, projection, config) if scores else None
    narrow = similarity_loss(read.spans @ projection, read.taught)
    gold = torch.tensor(scores, device=read.spans.device)
    weights = config.weights
    losses = {"distillation": distillation_loss(read.spans, read.taught, config.distillation)}
    if searched:
        losses["graded"] = weights.graded * correlation_loss(searched.best.diagonal(), gold)
        losses["isolated"] = weights.isolated * correlation_loss(searched.inside[:, 0], gold)
        losses["paper"] = weights.paper * paper_loss_in_batch(searched.negatives, weights=(gold >= POSITIVE).float())
        losses["borders"] = weights.borders * border_loss(searched.inside, searched.inside_taught)
        if weights.twins:
            alone_too = functional.cosine_similarity(read.spans[: read.queries], read.spans[read.of_twins])
            losses["twins"] = weights.twins * twin_loss(searched.best.diagonal(), alone_too)
    losses["narrow"] = weights.narrow * config.distillation.similarities * narrow
    if searched:
        losses["narrow_graded"] = (
            weights.narrow * weights.graded * correlation_loss(searched.narrow_best.diagonal(), gold)
        )
    return losses


def triplet_losses(
    student: Backbone, triplets: Sequence[Triplet], projection: Float[Tensor, "dim narrow"], config: SliceConfig
) -> Losses:
    """The paper's loss (section 3.1) of queries and texts with and without a match, in full length and projected.

    It is of the best spans, and, where that has a weight, of whole texts: what the paper compares its loss with.
    """
    texts = [
        *(triplet.query for triplet in triplets),
        *(triplet.positive for triplet in triplets),
        *(triplet.negative for triplet in triplets),
    ]
    vectors, counts = unit_vectors(student, first_windows(student, texts))
    losses = _losses_of_triplets(vectors, counts, config)
    if config.weights.narrow:
        narrow = _losses_of_triplets(vectors @ projection, counts, config)
        losses |= {f"narrow_{name}": config.weights.narrow * loss for name, loss in narrow.items()}
    return losses


def _losses_of_triplets(
    units: Float[Tensor, "texts units dim"], counts: Int[Tensor, " texts"], config: SliceConfig
) -> dict[str, Float[Tensor, ""]]:
    """By best spans; by whole texts too, or alone, where these have a weight."""
    weights = config.weights
    losses: dict[str, Float[Tensor, ""]] = {}
    if weights.triplets or not weights.whole_triplets:
        losses["triplets"] = weights.triplets * _paper_loss_of(units, counts, config)
    if weights.whole_triplets:
        losses["whole_triplets"] = weights.whole_triplets * _whole_loss_of(units)
    return losses


def _paper_loss_of(
    units: Float[Tensor, "texts units dim"], counts: Int[Tensor, " texts"], config: SliceConfig
) -> Float[Tensor, ""]:
    """Of as many queries, positive and negative texts, one after the other. Padding adds nothing to a query's sum."""
    queries, positives, negatives = units.chunk(3)
    _, of_positives, of_negatives = counts.chunk(3)
    sums = queries.sum(dim=1)
    true = best_span_cosines(sums, positives, of_positives, config.bounds).diagonal()
    false = best_span_cosines(sums, negatives, of_negatives, config.bounds).diagonal()
    return paper_loss(true, false)


def _whole_loss_of(units: Float[Tensor, "texts units dim"]) -> Float[Tensor, ""]:
    """The same, with the mean of all units of a text for its best span."""
    queries, positives, negatives = units.sum(dim=1).chunk(3)
    return paper_loss(
        functional.cosine_similarity(queries, positives), functional.cosine_similarity(queries, negatives)
    )


def _own_cosines(
    queries: Float[Tensor, "queries dim"], contexts: Float[Tensor, "all dim"]
) -> Float[Tensor, "queries spans"]:
    """Cosine of every query with the spans drawn of its own context, the paraphrase first."""
    return functional.cosine_similarity(queries[:, None], contexts.view(len(queries), -1, contexts.shape[1]), dim=-1)
