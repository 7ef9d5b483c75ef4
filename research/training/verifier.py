"""Train a verifier: a cross-encoder over the shared lower layers of the backbone, which judges pairs.

A step has whole contrast lines, so that a ranking loss compares their four texts (a text that says the phrase in other
words with one that does not in the same words, and so on), beside texts of other lines and pairs of public sets. The
verdicts of a larger network that was trained in the same way are learnt as well, also of hits of searches that nobody
has labelled (Hinton et al. 2015, "Distilling the Knowledge in a Neural Network").

    spanseek train verifier --data FOLDER --out FOLDER --checkpoints FOLDER
"""

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from models.artifacts import Artifact, load_artifact, save_artifact
from models.backbones.layers import layers_of
from models.backbones.packages import DEFAULT
from models.backbones.torch_network import Backbone, load_backbone
from models.errors import BackboneMismatch
from models.types import JsonValue
from models.verifier.network import HEAD, MARK, Window, windows_of
from models.verifier.types import DIFFERENCES, OUTPUTS, VERDICTS, Pair
from models.verifier.verdicts import SUREST
from models.verifier.verifier import RECIPE
from research.training.contrast_data import ContrastLine, read_contrast
from research.training.contrast_marks import Marks
from research.training.loop import Checkpoints, LoopHooks, Losses, Schedule, fit
from research.training.mined_hits import Mined
from research.training.sources import read_excluded
from research.training.verifier_data import Example, OtherTexts, examples_of, read_changed, read_public

# The licences of what ``research.training.changed_sources`` changes.
CHANGED_LICENCES = {
    "multidogo-train": "CDLA-Permissive",
    "sgd-dev": "CC BY-SA 4.0",
    "policies": "CC BY-SA 4.0, CC0-1.0",
    "jira-storypoints": "none stated",
    "enwiki": "CC BY-SA 3.0",
    "wordnet": "WordNet",
}
_FASTER = {HEAD: 6.0, MARK: 6.0}  # they begin near zero, the layers are pretrained
_ALIKE_IN_LENGTH = 160
_UNMARKED = 0.3
_LONGER = 0.5
_RANKING, _DIFFERING = 1.0, 0.2  # weights of losses beside the verdict's
_TOLD, _ODDS = 0.3, 0.1  # weights of the losses of labels, and of log odds, beside the teacher's verdicts
_AT_ONCE = 12
_RIGHT = 2  # of the texts of a line, those that say its phrase come first


@dataclass(frozen=True, slots=True)
class VerifierConfig:
    """A run: its data, where it writes, how it learns. ``changed`` is a file of ``minimal_changes``.

    A step has ``lines`` contrast lines, four pairs each and ``others`` of other lines' texts, and so many pairs
    of ``public`` sets and ``changed_pairs``. ``start`` is the folder of a verifier that training goes on from.
    ``teacher`` is that of one over another backbone, whose verdicts are learnt, also of ``hits`` of searches.
    """

    out: Path
    checkpoints: Path
    data: Path
    exclude: Path | None = None
    changed: Path | None = None
    start: Path | None = None
    teacher: Path | None = None
    teacher_backbone: str = DEFAULT
    backbone: str = DEFAULT
    device: str = "auto"
    seed: int = 1
    frozen_layers: int = 2
    lines: int = 5
    others: int = 2
    public: int = 2
    changed_pairs: int = 8
    hits: int = 0
    save_every: int = 200
    schedule: Schedule = field(default_factory=lambda: Schedule(steps=2_600, rate=1.5e-4))


class PairClassifier(torch.nn.Module):
    """The network that ``models.verifier.network`` runs without torch, over any backbone that transformers builds."""

    def __init__(self, backbone: Backbone, frozen_layers: int) -> None:
        super().__init__()
        self.backbone = backbone
        self.mark = torch.nn.Parameter(torch.zeros(backbone.dim, device=backbone.device))
        self.dropout = torch.nn.Dropout(0.1)
        self.head = torch.nn.Linear(2 * backbone.dim, OUTPUTS, device=backbone.device)
        torch.nn.init.normal_(self.head.weight, std=0.01)
        torch.nn.init.zeros_(self.head.bias)
        self.has_kinds = getattr(backbone.model.config, "type_vocab_size", 0) > 1
        for layer in layers_of(backbone.model)[frozen_layers:]:
            layer.requires_grad_(True)

    def trained(self) -> dict[str, torch.nn.Parameter]:
        """The parameters that learn, by their names in an artifact."""
        layers = {name: p for name, p in self.backbone.model.named_parameters() if p.requires_grad}
        head = {HEAD + name: p for name, p in self.head.named_parameters()}
        return layers | {MARK: self.mark} | head

    def forward(self, windows: Sequence[Window]) -> Float[Tensor, "pairs outputs"]:
        """The logits of every pair, from parts that are alike in length, so that few tokens are padding."""
        order = sorted(range(len(windows)), key=lambda number: len(windows[number]))
        parts = [order[begin : begin + _AT_ONCE] for begin in range(0, len(order), _AT_ONCE)]
        logits = torch.cat([self._logits([windows[number] for number in part]) for part in parts])
        return logits[np.argsort(order)]

    def _logits(self, windows: Sequence[Window]) -> Float[Tensor, "pairs outputs"]:
        tokenizer, device = self.backbone.tokenizer, self.backbone.device
        between = tokenizer.suffix if self.has_kinds else np.concatenate([tokenizer.suffix, tokenizer.suffix])
        ids, mask = self.backbone.pad([np.concatenate([w.phrase, between, w.text]) for w in windows])
        kinds, marked = torch.zeros_like(ids), torch.zeros(ids.shape)
        for row, window in enumerate(windows):
            start = self.backbone.begin + len(window.phrase) + len(between)
            kinds[row, start : start + len(window.text) + 1] = 1
            marked[row, start : start + len(window.text)] = torch.from_numpy(window.marked.astype(np.float32))
        words = self.backbone.model.get_input_embeddings()(ids.to(device))  # type: ignore[operator]
        of_kinds = {"token_type_ids": kinds.to(device)} if self.has_kinds else {}
        with self.backbone.precision():
            output = self.backbone.model(
                inputs_embeds=words + marked.to(device)[..., None] * self.mark,
                attention_mask=mask.to(device),
                **of_kinds,
            )
        states = output.last_hidden_state.float()
        real = mask.to(device)[..., None]
        mean = (states * real).sum(dim=1) / real.sum(dim=1)
        logits: Tensor = self.head(self.dropout(torch.cat([states[:, 0], mean], dim=-1)))
        return logits

    @torch.inference_mode()
    def logits(self, pairs: Sequence[Pair]) -> Float[Tensor, "pairs outputs"]:
        """The logits of many pairs, without dropout."""
        self.backbone.model.eval()
        self.dropout.eval()
        logits: Tensor = self(windows_of(self.backbone, pairs)).cpu()
        return logits


class Batches:
    """The pairs of a step, drawn from its number."""

    def __init__(self, config: VerifierConfig, lines: Sequence[ContrastLine], marks: Marks, mined: Mined) -> None:
        self._config, self._lines = config, lines
        self._texts = OtherTexts(lines, mined)
        self._hits = [Example(pair, 0.0) for pairs in mined.values() for pair in pairs]
        self._public = read_public(config.data, read_excluded(config.exclude), config.seed)
        self._changed = list(read_changed(config.changed)) if config.changed else []
        self._examples = [examples_of(line, marks.get(line.id) or [None] * 4) for line in lines]
        self._by_length = sorted(
            range(len(lines)), key=lambda number: sum(len(text) for text, _ in lines[number].pairs)
        )

    def draw(self, step: int) -> list[Example]:
        """Whole lines first, and then the others. The lines of a step are alike in length, so that few are padded."""
        config, rng = self._config, random.Random(f"{self._config.seed}/{step}")  # noqa: S311  sampling, not secrets
        start = rng.randint(0, max(0, len(self._by_length) - _ALIKE_IN_LENGTH))
        chosen = rng.sample(self._by_length[start : start + _ALIKE_IN_LENGTH], config.lines)
        examples = []
        for number in chosen:
            unmarked = rng.random() < _UNMARKED
            of_line = [*self._examples[number], *(self._texts.draw(number, rng) for _ in range(config.others))]
            longer = [self._texts.within(each, rng) if rng.random() < _LONGER else each for each in of_line]
            examples += [_without_mark(each) if unmarked else each for each in longer]
        for among, count in (
            (self._public, config.public),
            (self._changed, config.changed_pairs),
            (self._hits, config.hits),
        ):
            examples += rng.choices(among, k=count) if among else []
        return examples


def losses_of(logits: Float[Tensor, "pairs outputs"], examples: Sequence[Example], lines: tuple[int, int]) -> Losses:
    """Cross-entropy of verdicts and of differences, and a ranking loss over the texts of every one of the lines.

    A line's pairs come first, its two texts that say the phrase before the others. The ranking loss is the softplus of
    what a text that does not say the phrase is above one that does, in log odds.
    """
    verdicts = functional.log_softmax(logits[:, : len(VERDICTS)], dim=-1)
    no_match = torch.logsumexp(verdicts[:, 1:], dim=1)
    known = torch.tensor([each.verdict is not None for each in examples])
    told: Int[Tensor, " known"] = torch.tensor([VERDICTS.index(each.verdict) for each in examples if each.verdict])
    match = torch.tensor([each.match for each in examples if each.verdict is None])
    of_known = -verdicts[known].gather(1, told[:, None]).sum()
    of_unknown = -(match * verdicts[~known, 0] + (1 - match) * no_match[~known]).sum()
    odds = (verdicts[:, 0] - no_match)[: lines[0] * lines[1]].view(lines)
    ranking = functional.softplus(odds[:, None, _RIGHT:] - odds[:, :_RIGHT, None]).mean()
    differing = torch.tensor([each.differs is not None for each in examples])
    named = torch.tensor([DIFFERENCES.index(each.differs) for each in examples if each.differs])
    return {
        "verdict": (of_known + of_unknown) / len(examples),
        "ranking": _RANKING * ranking,
        "differences": _DIFFERING * functional.cross_entropy(logits[differing, len(VERDICTS) :], named),
    }


def taught_losses(logits: Float[Tensor, "pairs outputs"], taught: Float[Tensor, "pairs outputs"]) -> Losses:
    """How far logits are from a teacher's: the divergence of verdicts and of differences, and the log odds.

    Differences count as far as the teacher sees no match. A log odds beyond what a sure teacher needs is not asked for.
    """
    verdicts, differences = slice(None, len(VERDICTS)), slice(len(VERDICTS), None)
    divergence = {
        part: functional.kl_div(
            functional.log_softmax(logits[:, columns], dim=-1), taught[:, columns].softmax(dim=-1), reduction="none"
        ).sum(dim=1)
        for part, columns in (("verdict", verdicts), ("differences", differences))
    }
    no_match = 1 - taught[:, verdicts].softmax(dim=-1)[:, 0]
    own, others = (each[:, 0] - torch.logsumexp(each[:, 1 : len(VERDICTS)], dim=1) for each in (logits, taught))
    return {
        "taught_verdict": divergence["verdict"].mean(),
        "taught_odds": _ODDS * functional.smooth_l1_loss(own, others.clamp(-SUREST, SUREST)),
        "taught_differences": _DIFFERING * (no_match * divergence["differences"]).mean(),
    }


def train_verifier(config: VerifierConfig, marks: Marks, mined: Mined, hooks: LoopHooks | None = None) -> Artifact:
    """Train, and save the layers, the mark and the head (fp16) in ``config.out``; resumes from a checkpoint.

    ``marks`` are the best spans of the four texts of every contrast line, as a search would mark them; ``mined`` are
    wrong hits of searches for their phrases.
    """
    lines = list(read_contrast())
    batches = Batches(config, lines, marks, mined)
    torch.manual_seed(config.seed)  # the head begins with random weights
    network = PairClassifier(load_backbone(config.backbone, device=config.device), config.frozen_layers)
    trained = network.trained()
    if config.start is not None:
        _put(network, config.start)
    teacher = None if config.teacher is None else _teacher(config, config.teacher)

    def losses(step: int) -> Losses:
        torch.manual_seed(config.seed * 2**20 + step)  # so that a resumed run draws the same masks
        network.train()
        network.backbone.model.train()
        examples = batches.draw(step)
        pairs = [example.pair for example in examples]
        logits, of_lines = network(windows_of(network.backbone, pairs)), (config.lines, 4 + config.others)
        if teacher is None:
            return losses_of(logits, examples, of_lines)
        told = config.lines * (4 + config.others)
        taught = taught_losses(logits, teacher.logits(pairs).to(logits.device))
        of_labels = losses_of(logits[:told], examples[:told], of_lines)
        return {**taught, **{name: _TOLD * loss for name, loss in of_labels.items()}}

    def save(step: int) -> Artifact:
        tensors = {name: p.detach().to("cpu", torch.float16) for name, p in trained.items()}
        return save_artifact(config.out, tensors, facts(config, network.backbone, len(lines), step))

    run = facts(config, network.backbone, len(lines), 0) | {"schedule": asdict(replace(config.schedule, steps=0))}
    checkpoints = Checkpoints(config.checkpoints, config.save_every, save, run)
    return save(fit(trained, losses, config.schedule, checkpoints, hooks, _FASTER))


def facts(config: VerifierConfig, backbone: Backbone, lines: int, step: int) -> dict[str, JsonValue]:
    """Provenance stored in config.json: backbone, data and settings."""
    return {
        "recipe": RECIPE,
        "backbone_sha256": backbone.weights_sha256,
        "frozen_layers": config.frozen_layers,
        "seed": config.seed,
        "steps": step,
        "contrast_lines": lines,
        "started_from": None if config.start is None else load_artifact(config.start).sha256,
        "teacher": None if config.teacher is None else load_artifact(config.teacher).sha256,
        "of_a_step": [config.lines, config.others, config.public, config.changed_pairs, config.hits],
        "schedule": asdict(config.schedule),
        "data": {
            "research/data/contrast": "Apache-2.0",
            "breaking-nli": "CC BY-SA 4.0",
            "monli": "none stated",
            "snli": "CC BY-SA 4.0",
            "stsb-train": "CC BY-SA 4.0",
            **(CHANGED_LICENCES if config.changed else {}),
        },
    }


def _without_mark(example: Example) -> Example:
    return replace(example, pair=replace(example.pair, mark=None))


def _put(network: PairClassifier, folder: Path) -> None:
    """Give a network the weights of a verifier. Raises ``BackboneMismatch`` for one over another backbone."""
    artifact, trained = load_artifact(folder), network.trained()
    if artifact.config.get("backbone_sha256") != network.backbone.weights_sha256:
        raise BackboneMismatch(
            f"The verifier in {folder} was trained over another backbone.",
            hint="Name its backbone: by --teacher-backbone for a teacher, by --backbone for one to start from.",
        )
    for name, values in artifact.tensors.items():
        trained[name].data.copy_(values)


def _teacher(config: VerifierConfig, folder: Path) -> PairClassifier:
    frozen = cast("int", load_artifact(folder).config["frozen_layers"])
    teacher = PairClassifier(load_backbone(config.teacher_backbone, device=config.device), frozen)
    _put(teacher, folder)
    return teacher.requires_grad_(False)
