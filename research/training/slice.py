"""The SLICE recipe: self-distillation of spans, and the paper's best-span search trained on graded pairs.

Every step sees three kinds of text: the queries of graded pairs alone, their paraphrases set into contexts, and
other texts. The frozen backbone reads spans of all of them alone; the encoder being trained reads each text once.
A user's triplets, if there are any, are searched beside them, or instead where there are no other texts.

    spanseek train slice --data FOLDER --out FOLDER --checkpoints FOLDER
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from models.artifacts import Artifact, load_artifact, save_artifact
from models.backbones.torch_network import Backbone, load_backbone
from models.encoders.slice import PROJECTION, projection_of, put_in_place
from models.errors import InvalidInput
from models.types import JsonValue
from research.training.batches import draw, further_passages, some_contexts
from research.training.config import SliceConfig
from research.training.loop import Checkpoints, LoopHooks, Losses, fit
from research.training.objectives import Teachers, draw_losses, read_draw, triplet_losses
from research.training.own_texts import TripletFile, digests, read_graded_pair_file, read_own_texts
from research.training.reading import Topics, alone
from research.training.sources import PHRASES, PROSE, QUESTIONS, read_excluded, without
from research.training.texts import NO_TEXTS, Texts, add_own, read_texts
from research.training.topical import topical_losses
from research.training.topical_pairs import TOPICAL, draw_topical

NARROW = 128  # dimensions of the projection that is trained along
_CONTEXTS = 10_000  # contexts among which those near to a phrase are found
_FIRST_DRAWS = 16  # steps' worth of phrases from which the projection begins
_FIT_DRAWS = 80  # steps' worth of spans to which it is fitted in the end


@dataclass(frozen=True, slots=True)
class Material:
    """Material that a run learns from: texts to draw from, or triplets, or both."""

    texts: Texts | None
    triplets: TripletFile | None = None


def read_material(config: SliceConfig) -> Material:
    """Read what the settings name; triplets stay in their file until a step needs them."""
    if config.pairs and not (config.data or config.texts):
        raise InvalidInput(
            "Graded pairs are set into contexts, and there are no texts to take these from.",
            hint="Give texts of the field as well, with --texts or --data.",
            field="pairs",
        )
    if not (config.data or config.texts or config.triplets):
        raise InvalidInput(
            "There is nothing to train on.",
            hint="Name the folder of the known sets (--data), your own texts (--texts), or triplets (--triplets).",
            field="data",
        )
    excluded = read_excluded(config.exclude)
    triplets = TripletFile(config.triplets, excluded) if config.triplets else None
    return Material(_read_texts(config, excluded), triplets)


def _read_texts(config: SliceConfig, excluded: Sequence[str]) -> Texts | None:
    own = read_own_texts(config.texts, config.seed) if config.texts else []
    pairs = read_graded_pair_file(config.pairs) if config.pairs else []
    kinds = {"questions": bool(config.shape.questions), "topical": bool(config.shape.topical)}
    texts = read_texts(config.data, excluded, **kinds) if config.data else NO_TEXTS
    if own or pairs:
        texts = add_own(texts, own, without(pairs, excluded))
    return texts if texts.prose else None


def _with_topics(material: Material, teacher: Backbone, config: SliceConfig) -> Material:
    """The same, with a pool of contexts to be found by topic where some are asked for."""
    if material.texts is None or not (config.shape.near or config.shape.questions or config.shape.hard):
        return material
    topics = Topics(teacher, some_contexts(material.texts, _CONTEXTS, config.seed))
    return replace(material, texts=replace(material.texts, near=topics.near))


def train_slice(config: SliceConfig, material: Material | None = None, hooks: LoopHooks | None = None) -> Artifact:
    """Train, and save what training changed (fp16) in ``config.out``; goes on from a checkpoint if there is one.

    The artifact says how many steps were made: fewer than planned where a hook stopped the run.
    """
    material = material or read_material(config)
    student = load_backbone(config.backbone, device=config.device)
    teachers = load_teachers(config)
    material = _with_topics(material, teachers.spans, config)
    start = _load_start(config, student)
    first = (
        first_projection(teachers.spans, material, config) if start is None else torch.from_numpy(projection_of(start))
    )
    projection = torch.nn.Parameter(first.to(student.device))
    parameters = trainable(student, config.frozen_layers) | {PROJECTION: projection}

    def losses(step: int) -> Losses:
        return step_losses(student, teachers, projection, material, config, step)

    def save(step: int) -> Artifact:
        saved = layers(student) | parameters
        tensors = {name: parameter.detach().to("cpu", torch.float16) for name, parameter in saved.items()}
        return save_artifact(config.out, tensors, _facts(config, student, step))

    checkpoints = Checkpoints(config.checkpoints, config.save_every, save, _run(config, student))
    steps = fit(parameters, losses, config.schedule, checkpoints, hooks)
    if steps >= config.schedule.steps:
        spans = learnt_spans(student, teachers, material, config, steps)
        parameters[PROJECTION] = torch.nn.Parameter(fit_projection(spans, projection, config.seed))
    return save(steps)


def layers(backbone: Backbone) -> dict[str, torch.nn.Parameter]:
    """Parameters that weights hold: all but the embeddings, half of the size, and the pooler, which is not used."""
    return {name: parameter for name, parameter in backbone.model.named_parameters() if name.startswith("encoder.")}


def trainable(backbone: Backbone, frozen_layers: int = 0) -> dict[str, torch.nn.Parameter]:
    """The layers that learn: all, or all but the lowest few."""
    frozen = tuple(f"encoder.layer.{number}." for number in range(frozen_layers))
    parameters = {name: parameter for name, parameter in layers(backbone).items() if not name.startswith(frozen)}
    for parameter in parameters.values():
        parameter.requires_grad_(True)
    return parameters


def load_teachers(config: SliceConfig) -> Teachers:
    """Those that read spans alone: the frozen backbone; of all but short texts with trained weights, where named."""
    frozen = load_backbone(config.backbone, device=config.device)
    if config.teacher is None:
        return Teachers(frozen, frozen)
    trained = load_backbone(config.backbone, device=config.device)
    put_in_place(trained, load_artifact(config.teacher))
    return Teachers(trained, frozen)


def _load_start(config: SliceConfig, student: Backbone) -> Artifact | None:
    """Put the weights a run begins with in place, if it does not begin with the backbone's own."""
    if config.start is None:
        return None
    start = load_artifact(config.start)
    put_in_place(student, start)
    return start


def first_projection(teacher: Backbone, material: Material, config: SliceConfig) -> Float[Tensor, "dim narrow"]:
    """The directions in which the teacher's vectors of some phrases extend most: where the projection begins."""
    phrases = alone(teacher, _some_phrases(material, config))
    # Few phrases extend in few directions: any others make up the rest.
    *_, directions = torch.linalg.svd(phrases, full_matrices=len(phrases) < NARROW)
    return directions[:NARROW].T.contiguous().to(teacher.device)


@torch.no_grad()
def learnt_spans(
    student: Backbone, teachers: Teachers, material: Material, config: SliceConfig, step: int
) -> Float[Tensor, "spans dim"]:
    """Vectors of spans as the finished encoder sees them, of draws from a step on that was not made."""
    if material.texts is None:
        return alone(student, _some_phrases(material, config)).to(student.device)
    drawn = ((step, draw(material.texts, config.shape, config.seed, step)) for step in range(step, step + _FIT_DRAWS))
    return torch.cat([read_draw(student, teachers, texts, config, step).spans for step, texts in drawn])


def _some_phrases(material: Material, config: SliceConfig) -> list[str]:
    phrases: list[str] = []
    if material.texts is not None:
        for number in range(1, _FIRST_DRAWS + 1):
            drawn = draw(material.texts, config.shape, config.seed, -number)
            phrases += drawn.queries
            phrases += [sample.phrase.of(sample.text) for sample in drawn.contexts + drawn.others]
    if material.triplets is not None:
        for triplet in material.triplets.batch(0, _FIRST_DRAWS * config.triplets_per_step, config.seed):
            phrases += [triplet.query, triplet.positive, triplet.negative]
    return phrases


def step_losses(
    student: Backbone,
    teachers: Teachers,
    projection: Float[Tensor, "dim narrow"],
    material: Material,
    config: SliceConfig,
    step: int,
) -> Losses:
    """All losses of one step, weighted, by name."""
    losses: dict[str, Float[Tensor, ""]] = {}
    if material.texts is not None:
        drawn = draw(material.texts, config.shape, config.seed, step)
        read = read_draw(student, teachers, drawn, config, step)
        losses |= draw_losses(read, drawn.scores, projection, config)
        losses |= _ranked(student, teachers, material.texts, config, step)
    if material.triplets is not None:
        triplets = material.triplets.batch(step, config.triplets_per_step, config.seed)
        losses |= triplet_losses(student, triplets, projection, config)
    return losses


def _ranked(student: Backbone, teachers: Teachers, texts: Texts, config: SliceConfig, step: int) -> Losses:
    """The retrieval term of one step; nothing where no pairs are drawn."""
    pairs = draw_topical(texts.topical, config.shape.topical, config.seed, step)
    if not pairs:
        return {}
    hard = further_passages(texts, pairs[: config.shape.hard], config.seed, step)
    return topical_losses(student, teachers.short, pairs, hard, config)


def _facts(config: SliceConfig, backbone: Backbone, step: int) -> dict[str, JsonValue]:
    """Facts that a reader of the weights must know: on what they stand and how they were made."""
    sources = PROSE | PHRASES | (QUESTIONS if config.shape.questions else {})
    licences: dict[str, JsonValue] = {name: source.licence for name, source in sources.items()}
    facts: dict[str, JsonValue] = {
        "recipe": "slice.v1",
        "backbone_sha256": backbone.weights_sha256,
        "seed": config.seed,
        "steps": step,
        "spans_per_text": config.spans,
        "data": licences | {"stsb-train": "CC BY-SA 4.0"} if config.data else {},
    }
    if config.shape.topical:
        facts["topical"] = {name: source.licence for name, source in TOPICAL.items()}
    if config.discount:
        facts["discount"] = config.discount
    for name in ("shape", "schedule", "distillation", "bounds"):
        facts[name] = asdict(getattr(config, name))
    return facts | {"weights": _weights_used(config)} | _start_facts(config) | _own_facts(config)


def _weights_used(config: SliceConfig) -> dict[str, float]:
    return {name: value for name, value in asdict(config.weights).items() if name != "triplets" or config.triplets}


def _start_facts(config: SliceConfig) -> dict[str, JsonValue]:
    """With which weights the run began, if not with the backbone's own, and how many of its layers did not learn."""
    facts: dict[str, JsonValue] = {"frozen_layers": config.frozen_layers} if config.frozen_layers else {}
    named = {"start": config.start, "teacher": config.teacher}
    return facts | {name: load_artifact(weights).sha256 for name, weights in named.items() if weights}


def _own_facts(config: SliceConfig) -> dict[str, JsonValue]:
    """The names of a user's own files, where there are any."""
    files = {name: getattr(config, name) for name in ("texts", "pairs", "triplets")}
    own: dict[str, JsonValue] = {name: path.name for name, path in files.items() if path}
    if config.triplets:
        own["triplets_per_step"] = config.triplets_per_step
    return {"own": own} if own else {}


def _run(config: SliceConfig, backbone: Backbone) -> dict[str, JsonValue]:
    """Facts that must be the same for a run to go on from a checkpoint: all known of it but the number of steps."""
    facts = _facts(config, backbone, step=0) | {"schedule": asdict(replace(config.schedule, steps=0))}
    named = ("exclude", "texts", "pairs", "triplets")
    return facts | {"contents": digests({name: getattr(config, name) for name in named})}


_STEPS = 1_500
_BATCH = 384
_RATE = 2e-3
# How much more pairs count that are alike: they are what a search has to tell apart.
_ALIKE = 4.0


def fit_projection(
    vectors: Float[Tensor, "spans dim"], begin: Float[Tensor, "dim narrow"], seed: int, steps: int = _STEPS
) -> Float[Tensor, "dim narrow"]:
    """Fit a projection to vectors of spans that do not change any more, from the one where training left off.

    It minimises the mean square difference between the cosines of random pairs before and after. The rate falls
    linearly to zero. A seed gives the same projection.

    >>> spans = torch.tensor([[1.0, 0.0, 0.1], [0.0, 1.0, 0.1], [1.0, 1.0, 0.1]])
    >>> narrow = fit_projection(spans, torch.tensor([[1.0, 0.0], [0.0, 0.5], [0.0, 0.0]]), seed=1)
    >>> wide_cosines, cosines = cosines_of(spans), cosines_of(spans @ narrow)
    >>> bool((wide_cosines - cosines).abs().max() < 0.02)
    True
    """
    generator = torch.Generator().manual_seed(seed)
    vectors = functional.normalize(vectors, dim=-1)
    projection = torch.nn.Parameter(begin.detach().clone())
    optimizer = torch.optim.Adam([projection], lr=_RATE)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 1e-6, total_iters=steps)
    for _ in range(steps):
        batch = vectors[torch.randint(len(vectors), (min(_BATCH, len(vectors)),), generator=generator)]
        targets = cosines_of(batch)
        errors = cosines_of(batch @ projection) - targets
        loss = (errors.square() * (1 + _ALIKE * targets.clamp_min(0))).mean()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
    return projection.detach()


def cosines_of(vectors: Float[Tensor, "spans dim"]) -> Float[Tensor, "spans spans"]:
    """The cosine of every vector with every other."""
    unit = functional.normalize(vectors, dim=-1)
    return unit @ unit.T
