"""The SLICE recipe: self-distillation of spans, and the paper's best-span search trained on graded pairs.

Every step sees three kinds of text: the queries of graded pairs alone, their paraphrases set into contexts, and
other texts. The frozen backbone reads spans of all of them alone; the encoder being trained reads each text once.

    python -m models.training.slice --data FOLDER --out FOLDER --checkpoints FOLDER
"""

import argparse
import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from models import units
from models.artifacts import Artifact, save_artifact
from models.backbones import Backbone, load_backbone
from models.encoders.slice import PROJECTION
from models.packages import DEFAULT
from models.tokens import UnitTokens, join
from models.training.data import Draw, Shape, Texts, draw, draw_spans, read_texts
from models.training.loop import Losses, Schedule, fit
from models.training.losses import (
    DistillationWeights,
    best_span_cosines,
    border_loss,
    correlation_loss,
    distillation_loss,
    paper_loss_in_batch,
    similarity_loss,
    span_sums,
)
from models.training.sources import PHRASES, PROSE
from models.types import CharSpan, JsonValue, SpanBounds

logger = logging.getLogger(__name__)

NARROW = 128  # dimensions of the projection that is trained along
POSITIVE = 0.7  # graded pairs from here on are matches for the paper's loss
TEACHER_BATCH = 64
STUDENT_BATCH = 14


@dataclass(frozen=True, slots=True)
class Weights:
    """What the losses count beside the distillation, which counts 1."""

    graded: float = 1.0
    isolated: float = 0.3
    paper: float = 0.05
    borders: float = 5.0
    narrow: float = 0.5


@dataclass(frozen=True, slots=True)
class SliceConfig:
    """Everything a run depends on, but the texts themselves."""

    data: Path
    out: Path
    checkpoints: Path
    exclude: Path | None = None
    backbone: str = DEFAULT
    device: str = "auto"
    seed: int = 13
    spans: int = 5
    save_every: int = 50
    shape: Shape = field(default_factory=Shape)
    schedule: Schedule = field(default_factory=Schedule)
    distillation: DistillationWeights = field(default_factory=DistillationWeights)
    weights: Weights = field(default_factory=Weights)
    bounds: SpanBounds = field(default_factory=SpanBounds)


def train_slice(
    config: SliceConfig, texts: Texts | None = None, after_save: Callable[[int], None] | None = None
) -> Artifact:
    """Train, and save what training changed (fp16) in ``config.out``; goes on from a checkpoint if there is one."""
    texts = texts or read_texts(config.data, config.exclude)
    student = load_backbone(config.backbone, device=config.device)
    teacher = load_backbone(config.backbone, device=config.device)
    projection = torch.nn.Parameter(first_projection(teacher, texts, config))
    parameters = trainable(student) | {PROJECTION: projection}

    def losses(step: int) -> Losses:
        return step_losses(student, teacher, projection, draw(texts, config.shape, config.seed, step), config, step)

    def save(step: int) -> Artifact:
        tensors = {name: parameter.detach().to("cpu", torch.float16) for name, parameter in parameters.items()}
        return save_artifact(config.out, tensors, _facts(config, student, step))

    def saved(step: int) -> None:
        save(step)
        if after_save:
            after_save(step)

    fit(parameters, losses, config.schedule, config.checkpoints, save_every=config.save_every, after_save=saved)
    return save(config.schedule.steps)


def trainable(backbone: Backbone) -> dict[str, torch.nn.Parameter]:
    """The layers that learn: all but the embeddings, which are half of the size, and the pooler, which is not used."""
    parameters = {n: p for n, p in backbone.model.named_parameters() if n.startswith("encoder.")}
    for parameter in parameters.values():
        parameter.requires_grad_(True)
    return parameters


def first_projection(
    teacher: Backbone, texts: Texts, config: SliceConfig, draws: int = 16
) -> Float[Tensor, "dim narrow"]:
    """The directions in which the teacher's vectors of some phrases extend most: where the projection begins."""
    drawn = [draw(texts, config.shape, config.seed, -number) for number in range(1, draws + 1)]
    phrases = [
        text for one in drawn for text in (*one.queries, *(s.phrase.of(s.text) for s in one.contexts + one.others))
    ]
    *_, directions = torch.linalg.svd(alone(teacher, phrases), full_matrices=False)
    return directions[:NARROW].T.contiguous().to(teacher.device)


def step_losses(
    student: Backbone,
    teacher: Backbone,
    projection: Float[Tensor, "dim narrow"],
    drawn: Draw,
    config: SliceConfig,
    step: int,
) -> Losses:
    """All losses of one batch, weighted, by name."""
    rng = random.Random(f"spans/{config.seed}/{step}")  # noqa: S311  sampling, not secrets
    count = len(drawn.queries)
    queries = [CharSpan(0, len(query)) for query in drawn.queries]
    samples = [
        *zip(drawn.queries, queries, strict=True),
        *((s.text, s.phrase) for s in (*drawn.contexts, *drawn.others)),
    ]
    joined = _joined(student, [text for text, _ in samples])
    spans, texts = [], []
    for number, ((text, phrase), of_text) in enumerate(zip(samples, joined, strict=True)):
        wanted = 1 if number < count else config.spans
        for span in draw_spans(of_text, phrase, wanted, config.bounds, rng):
            spans.append((number, span.start, span.end))
            texts.append(text[of_text.spans[span.start, 0] : of_text.spans[span.end - 1, 1]])
    vectors, counts = _units(student, joined)
    where = torch.tensor(spans, device=vectors.device)
    sums = span_sums(vectors, where)
    wanted_vectors = alone(teacher, texts).to(vectors.device)
    gold = torch.tensor(drawn.scores, device=vectors.device)

    of_query, of_context = sums[:count], vectors[count : 2 * count]
    best = best_span_cosines(of_query, of_context, counts[count : 2 * count], config.bounds)
    contexts = slice(count, count + count * config.spans)
    inside = _own_cosines(sums[:count], sums[contexts])
    inside_taught = _own_cosines(wanted_vectors[:count], wanted_vectors[contexts])
    inserted_taught = wanted_vectors[contexts][:: config.spans]
    negatives = _without_matches(best, wanted_vectors[:count] @ inserted_taught.T)
    weights = config.weights
    narrow_best = best_span_cosines(
        of_query @ projection, of_context @ projection, counts[count : 2 * count], config.bounds
    )
    narrow = similarity_loss(sums @ projection, wanted_vectors)
    return {
        "distillation": distillation_loss(sums, wanted_vectors, config.distillation),
        "graded": weights.graded * correlation_loss(best.diagonal(), gold),
        "isolated": weights.isolated * correlation_loss(inside[:, 0], gold),
        "paper": weights.paper * paper_loss_in_batch(negatives, weights=(gold >= POSITIVE).float()),
        "borders": weights.borders * border_loss(inside, inside_taught),
        "narrow": weights.narrow * config.distillation.similarities * narrow,
        "narrow_graded": weights.narrow * weights.graded * correlation_loss(narrow_best.diagonal(), gold),
    }


def _own_cosines(
    queries: Float[Tensor, "queries dim"], contexts: Float[Tensor, "all dim"]
) -> Float[Tensor, "queries spans"]:
    """Cosine of every query with the spans drawn of its own context, the paraphrase first."""
    return functional.cosine_similarity(queries[:, None], contexts.view(len(queries), -1, contexts.shape[1]), dim=-1)


def _without_matches(
    cosines: Float[Tensor, "queries texts"], taught: Float[Tensor, "queries queries"]
) -> Float[Tensor, "queries texts"]:
    """Leave out negatives that the teacher finds about as like the query as its own text is."""
    alike = taught > taught.diagonal()[:, None] - 0.1
    alike.fill_diagonal_(False)
    return cosines.masked_fill(alike, -torch.inf)


def _joined(backbone: Backbone, texts: Sequence[str]) -> list[UnitTokens]:
    found = zip(texts, backbone.tokenize(texts), strict=True)
    return [_first_window(join(units.split(text), tokens), backbone.window) for text, tokens in found]


def _first_window(joined: UnitTokens, window: int) -> UnitTokens:
    """The units that one forward pass reads, if a text should be longer."""
    count = int(np.searchsorted(joined.last, window, side="right"))
    return replace(
        joined,
        spans=joined.spans[:count],
        first=joined.first[:count],
        last=joined.last[:count],
        unknown=joined.unknown[:count],
    )


def _units(
    backbone: Backbone, joined: Sequence[UnitTokens]
) -> tuple[Float[Tensor, "texts units dim"], Int[Tensor, " texts"]]:
    """Unit vectors of every text, padded with zeros, and how many there are; texts of like length share a pass."""
    longest = max(map(len, joined))
    order = sorted(range(len(joined)), key=lambda number: len(joined[number].tokens.ids))
    parts = [order[begin : begin + STUDENT_BATCH] for begin in range(0, len(order), STUDENT_BATCH)]
    vectors = torch.cat([_units_of(backbone, [joined[number] for number in part], longest) for part in parts])
    counts = torch.tensor([len(of_text) for of_text in joined], device=vectors.device)
    return vectors[torch.from_numpy(np.argsort(order)).to(vectors.device)], counts


def _units_of(backbone: Backbone, joined: Sequence[UnitTokens], longest: int) -> Float[Tensor, "texts units dim"]:
    ids, mask = backbone.pad([of_text.tokens.ids[: backbone.window] for of_text in joined])
    hidden = backbone.hidden(ids, mask).float()
    first, last = (np.zeros((len(joined), longest), np.int64) for _ in range(2))
    for row, of_text in enumerate(joined):
        first[row, : len(of_text)], last[row, : len(of_text)] = of_text.first, of_text.last
    prefix = functional.pad(hidden.cumsum(dim=1), (0, 0, 1, 0))
    special = 1  # the one special token that stands before a text
    rows = torch.arange(len(joined), device=hidden.device)[:, None]
    ends, begins = (torch.from_numpy(bound + special).to(hidden.device) for bound in (last, first))
    return prefix[rows, ends] - prefix[rows, begins]


def alone(teacher: Backbone, texts: Sequence[str]) -> Float[Tensor, "texts dim"]:
    """What the frozen backbone makes of texts on their own: unit-length means of token vectors."""
    tokens = teacher.tokenize(texts)
    order = sorted(range(len(texts)), key=lambda number: len(tokens[number].ids))
    batches = [order[begin : begin + TEACHER_BATCH] for begin in range(0, len(order), TEACHER_BATCH)]
    vectors = np.zeros((len(texts), teacher.dim), np.float32)
    for batch, found in zip(batches, teacher.forward([tokens[n].ids for n in batch] for batch in batches), strict=True):
        vectors[batch] = np.stack([of_text.mean(axis=0) for of_text in found])
    return functional.normalize(torch.from_numpy(vectors), dim=-1)


def _facts(config: SliceConfig, backbone: Backbone, step: int) -> dict[str, JsonValue]:
    """What a reader of the weights must know: on what they stand and how they were made."""
    licences: dict[str, JsonValue] = {name: source.licence for name, source in (PROSE | PHRASES).items()}
    facts: dict[str, JsonValue] = {
        "recipe": "slice.v1",
        "backbone_sha256": backbone.weights_sha256,
        "seed": config.seed,
        "steps": step,
        "spans_per_text": config.spans,
        "data": licences | {"stsb-train": "CC BY-SA 4.0"},
    }
    for name in ("shape", "schedule", "distillation", "weights", "bounds"):
        facts[name] = asdict(getattr(config, name))
    return facts


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m models.training.slice", description="Train the SLICE encoder.")
    parser.add_argument("--data", type=Path, required=True, help="folder of the training sets")
    parser.add_argument("--out", type=Path, required=True, help="folder for the weights")
    parser.add_argument("--checkpoints", type=Path, required=True, help="folder for checkpoint and loss curve")
    parser.add_argument("--exclude", type=Path, help="STS-B-Context file whose sentences are not trained on")
    parser.add_argument("--backbone", default=DEFAULT)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--steps", type=int, default=2_000)
    parser.add_argument("--rate", type=float, default=1e-4)
    return parser.parse_args()


def main() -> None:
    """Train from the command line."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    arguments = _arguments()
    train_slice(
        SliceConfig(
            data=arguments.data,
            out=arguments.out,
            checkpoints=arguments.checkpoints,
            exclude=arguments.exclude,
            backbone=arguments.backbone,
            device=arguments.device,
            seed=arguments.seed,
            schedule=Schedule(steps=arguments.steps, rate=arguments.rate),
        )
    )


if __name__ == "__main__":
    main()
