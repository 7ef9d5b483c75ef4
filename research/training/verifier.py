"""Train a verifier: a cross-encoder over the shared lower layers of the backbone, which judges pairs.

A step has whole contrast lines, so that a ranking loss compares their four texts (a text that says the phrase in other
words with one that does not in the same words, and so on), beside texts of other lines and pairs of public sets. The
verdicts of a larger network that was trained in the same way are learnt as well, also of hits of searches that nobody
has labelled (Hinton et al. 2015, "Distilling the Knowledge in a Neural Network"). Labelled hits are
learnt list by list, in the order of their labels (RankNet, Burges et al. 2005), and graded pairs in that of grades.

    spanseek train verifier --data FOLDER --out FOLDER --checkpoints FOLDER
"""

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
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
from research.training.labelled_hits import read_labelled
from research.training.loop import Checkpoints, LoopHooks, Losses, Schedule, fit
from research.training.mined_hits import Mined
from research.training.sources import read_excluded
from research.training.verifier_data import (
    Example,
    OtherTexts,
    examples_of,
    read_changed,
    read_graded,
    read_public,
    turned,
)

# The licences of what ``research.training.changed_sources`` changes.
CHANGED_LICENCES = {
    "multidogo-train": "CDLA-Permissive",
    "sgd-dev": "CC BY-SA 4.0",
    "policies": "CC BY-SA 4.0, CC0-1.0",
    "jira-storypoints": "none stated",
    "enwiki": "CC BY-SA 3.0",
    "wordnet": "WordNet",
}
# Those of what ``research.training.labelled_hits`` reads.
LABELLED_LICENCES = {
    "research/data/hits": "Apache-2.0",
    "multidogo-train": "CDLA-Permissive",
    "sgd": "CC BY-SA 4.0",
    "multiwoz": "MIT",
    "cuad": "CC BY 4.0",
    "policies": "CC BY-SA 4.0, CC0-1.0",
    "jira-storypoints": "none stated",
    "nlbse24-issues": "none stated",
    "enwiki": "CC BY-SA 3.0",
}
_FASTER = {HEAD: 6.0, MARK: 6.0}  # they begin near zero, the layers are pretrained
_ALIKE_IN_LENGTH = 160
_UNMARKED = 0.3
_LONGER = 0.5
_RANKING, _DIFFERING = 1.0, 0.2  # weights of losses beside the verdict's
_TOLD, _ODDS = 0.3, 0.1  # weights of the losses of labels, and of log odds, beside the teacher's verdicts
_KEPT = 0.5  # the weight of verdicts that are kept
_AT_ONCE = 24
_ORDERED, _GRADED = 1.0, 0.5  # weights of the orders of labelled hits and of graded pairs
_OF_LIST = 9  # hits of a phrase in a step
_SURE, _SURPRISING = 0.25, 3.0  # the weight of a hit without surprise, and the surprise that counts most
_RIGHT = 2  # of the texts of a line, those that say its phrase come first


@dataclass(frozen=True, slots=True)
class VerifierConfig:
    """A run: its data, where it writes, how it learns. ``changed`` is a file of ``minimal_changes``.

    A step has ``lines`` contrast lines, four pairs each and ``others`` of other lines' texts, and so many pairs
    of ``public`` sets and ``changed_pairs``. ``start`` is the folder of a verifier that training goes on from.
    ``teacher`` is that of one over another backbone, whose verdicts are learnt, also of ``hits`` of searches. If it is
    ``start`` itself, its verdicts are kept on hits alone. ``labelled`` phrases of a step come with
    their labelled hits, those that the network judges wrongly at the beginning more often; of ``turned`` lines a text
    is the phrase of the others; and ``graded`` pairs of STS-B are put into order.
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
    labelled: int = 0
    turned: int = 0
    graded: int = 0
    save_every: int = 200
    schedule: Schedule = field(default_factory=lambda: Schedule(steps=2_600, rate=1.5e-4))

    @property
    def keeps(self) -> bool:
        """True if the teacher is the verifier that training starts from: it is followed on hits alone."""
        return self.hits > 0 and self.teacher is not None and self.teacher == self.start


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
        if backbone.device.type == "cpu":  # of short texts, the fused attention is slow to go back through
            backbone.model.set_attn_implementation("eager")  # type: ignore[operator]
        for layer in layers_of(backbone.model)[frozen_layers:]:
            layer.requires_grad_(True)

    def trained(self) -> dict[str, torch.nn.Parameter]:
        """The parameters that learn, by their names in an artifact."""
        layers = {name: p for name, p in self.backbone.model.named_parameters() if p.requires_grad}
        head = {HEAD + name: p for name, p in self.head.named_parameters()}
        return layers | {MARK: self.mark} | head

    def forward(self, windows: Sequence[Window]) -> Float[Tensor, "pairs outputs"]:
        """The logits of every pair, from parts that are alike in length, so that few tokens are padding.

        They are on the CPU, as what losses compare them with.
        """
        order = sorted(range(len(windows)), key=lambda number: len(windows[number]))
        parts = [order[begin : begin + _AT_ONCE] for begin in range(0, len(order), _AT_ONCE)]
        logits = torch.cat([self._logits([windows[number] for number in part]) for part in parts])
        return logits.cpu()[np.argsort(order)]

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
        logits: Tensor = self(windows_of(self.backbone, pairs))
        return logits

    def surprises(self, lists: Sequence[Sequence[Example]]) -> list[list[float]]:
        """Divergence, from 0, of what is said of every example of every list from whether it matches."""
        examples = list(chain.from_iterable(lists))
        match, entropy = _matches(examples), functional.binary_cross_entropy
        losses = functional.binary_cross_entropy_with_logits(
            odds_of(self.logits([each.pair for each in examples])), match, reduction="none"
        ) - entropy(match, match, reduction="none")
        return [part.tolist() for part in torch.split(losses, [len(hits) for hits in lists])]


class Batches:
    """The pairs of a step, drawn from its number."""

    def __init__(self, config: VerifierConfig, lines: Sequence[ContrastLine], marks: Marks, mined: Mined) -> None:
        self._config, self._lines = config, lines
        self._texts = OtherTexts(lines, mined)
        self._hits = [Example(pair, 0.0) for pairs in mined.values() for pair in pairs]
        self._public = read_public(config.data, read_excluded(config.exclude), config.seed)
        self.labelled = read_labelled(config.data) if config.labelled else []
        self._drawn = [[_often(each) for each in hits] for hits in self.labelled]
        self._graded = read_graded(config.data, read_excluded(config.exclude)) if config.graded else []
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

    def weigh(self, surprises: Sequence[Sequence[float]]) -> None:
        """Draw those labelled hits more often that surprise, and matches, which are few."""
        self._drawn = [
            [(_SURE + min(loss, _SURPRISING)) * _often(each) for each, loss in zip(hits, losses, strict=True)]
            for hits, losses in zip(self.labelled, surprises, strict=True)
        ]

    def draw_lists(self, step: int) -> list[list[Example]]:
        """Labelled hits of some phrases, turned lines, and graded pairs as the last list."""
        config, rng = self._config, random.Random(f"{self._config.seed}/lists/{step}")  # noqa: S311
        of = rng.choices(range(len(self.labelled)), k=config.labelled) if self.labelled else []
        lists = [_weighted(self.labelled[at], self._drawn[at], rng) for at in of]
        lists += [turned(line, rng) for line in rng.choices(self._lines, k=config.turned)]
        return [*lists, rng.sample(self._graded, config.graded)] if self._graded else lists


def losses_of(logits: Float[Tensor, "pairs outputs"], examples: Sequence[Example], lines: tuple[int, int]) -> Losses:
    """Cross-entropy of verdicts and of differences, and a ranking loss over the texts of every one of the lines.

    A line's pairs come first, its two texts that say the phrase before the others. The ranking loss is the softplus of
    what a text that does not say the phrase is above one that does, in log odds.
    """
    odds = odds_of(logits)[: lines[0] * lines[1]].view(lines)
    ranking = functional.softplus(odds[:, None, _RIGHT:] - odds[:, :_RIGHT, None]).mean()
    return {**label_losses(logits, examples), "ranking": _RANKING * ranking}


def odds_of(logits: Float[Tensor, "pairs outputs"]) -> Float[Tensor, " pairs"]:
    """The log odds of a match."""
    return logits[:, 0] - torch.logsumexp(logits[:, 1 : len(VERDICTS)], dim=1)


def label_losses(logits: Float[Tensor, "pairs outputs"], examples: Sequence[Example]) -> Losses:
    """Cross-entropy of verdicts, or of a match alone where no more is known, and of differences."""
    verdicts = functional.log_softmax(logits[:, : len(VERDICTS)], dim=-1)
    no_match = torch.logsumexp(verdicts[:, 1:], dim=1)
    known = torch.tensor([each.verdict is not None for each in examples])
    told: Int[Tensor, " known"] = torch.tensor([VERDICTS.index(each.verdict) for each in examples if each.verdict])
    match = torch.tensor([each.match for each in examples if each.verdict is None])
    of_known = -verdicts[known].gather(1, told[:, None]).sum()
    of_unknown = -(match * verdicts[~known, 0] + (1 - match) * no_match[~known]).sum()
    differing = torch.tensor([each.differs is not None for each in examples])
    named = torch.tensor([DIFFERENCES.index(each.differs) for each in examples if each.differs])
    return {
        "verdict": (of_known + of_unknown) / len(examples),
        "differences": _DIFFERING * functional.cross_entropy(logits[differing, len(VERDICTS) :], named)
        if named.numel()
        else logits.new_zeros(()),
    }


def order_loss(odds: Float[Tensor, " pairs"], matches: Float[Tensor, " pairs"]) -> Float[Tensor, ""]:
    """The mean softplus of what a pair is above one that matches more, weighed by how much more.

    >>> order_loss(torch.tensor([9.0, -9.0]), torch.tensor([1.0, 0.4])) < 0.001
    tensor(True)
    """
    apart = (matches[:, None] - matches[None]).clamp(min=0)
    return (functional.softplus(odds[None] - odds[:, None]) * apart).sum() / apart.sum().clamp(min=1e-6)


def taught_losses(logits: Float[Tensor, "pairs outputs"], taught: Float[Tensor, "pairs outputs"]) -> Losses:
    """Losses of logits against a teacher's: the divergence of verdicts and of differences, and the log odds.

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
    own, others = odds_of(logits), odds_of(taught)
    return {
        "taught_verdict": divergence["verdict"].mean(),
        "taught_odds": _ODDS * functional.smooth_l1_loss(own, others.clamp(-SUREST, SUREST)),
        "taught_differences": _DIFFERING * (no_match * divergence["differences"]).mean(),
    }


def list_losses(logits: Float[Tensor, "pairs outputs"], lists: Sequence[Sequence[Example]], labelled: int) -> Losses:
    """The losses of ``labelled`` lists, of labels and of order, and the order of graded pairs behind them."""
    parts, matches = torch.split(logits, [len(each) for each in lists]), [_matches(each) for each in lists]
    orders = [order_loss(odds_of(part), match) for part, match in zip(parts, matches, strict=True)]
    losses: dict[str, Tensor] = {}
    if labelled:
        of_hits = label_losses(torch.cat(parts[:labelled]), list(chain.from_iterable(lists[:labelled])))
        losses |= {f"labelled_{name}": loss for name, loss in of_hits.items()}
        losses["labelled_order"] = _ORDERED * torch.stack(orders[:labelled]).mean()
    if orders[labelled:]:
        losses["graded"] = _GRADED * orders[-1]
    return losses


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
        if batches.labelled:
            batches.weigh(network.surprises(batches.labelled))
    teacher = None if config.teacher is None else _teacher(config, config.teacher)

    def losses(step: int) -> Losses:
        torch.manual_seed(config.seed * 2**20 + step)  # so that a resumed run draws the same masks
        network.train()
        network.backbone.model.train()
        examples, lists = batches.draw(step), batches.draw_lists(step)
        pairs = [example.pair for example in (*examples, *chain.from_iterable(lists))]
        logits = network(windows_of(network.backbone, pairs))
        logits, listed = logits[: len(examples)], logits[len(examples) :]
        of_lists = list_losses(listed, lists, config.labelled + config.turned) if lists else {}
        of_lines = (config.lines, 4 + config.others)
        if teacher is None:
            return {**losses_of(logits, examples, of_lines), **of_lists}
        told, taught = config.lines * (4 + config.others), slice(len(examples))
        if config.keeps:
            told = len(examples) - config.hits
            taught = slice(told, len(examples))
        followed = taught_losses(logits[taught], teacher.logits(pairs[taught]))
        of_labels = losses_of(logits[:told], examples[:told], of_lines)
        for_teacher, for_labels = (_KEPT, 1.0) if config.keeps else (1.0, _TOLD)
        return {
            **{name: for_teacher * loss for name, loss in followed.items()},
            **{name: for_labels * loss for name, loss in of_labels.items()},
            **of_lists,
        }

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
        "of_a_step": {
            "contrast_lines": config.lines,
            "others": config.others * config.lines,
            "public": config.public,
            "changed_pairs": config.changed_pairs,
            "hits": config.hits,
            "labelled_phrases": config.labelled,
            "turned_lines": config.turned,
            "graded": config.graded,
        },
        "schedule": asdict(config.schedule),
        "data": {
            "research/data/contrast": "Apache-2.0",
            "breaking-nli": "CC BY-SA 4.0",
            "monli": "none stated",
            "snli": "CC BY-SA 4.0",
            "stsb-train": "CC BY-SA 4.0",
            **(CHANGED_LICENCES if config.changed else {}),
            **(LABELLED_LICENCES if config.labelled else {}),
        },
    }


def _matches(examples: Sequence[Example]) -> Float[Tensor, " pairs"]:
    return torch.tensor([example.match for example in examples])


def _often(example: Example) -> float:
    """Factor by which a hit is drawn more often than an unrelated one."""
    if example.match == 1:
        return 2.5
    return 1.0 if example.verdict == "unrelated" else 1.2


def _weighted(hits: Sequence[Example], weights: Sequence[float], rng: random.Random) -> list[Example]:
    """Some hits of a list, at random by their weights (Efraimidis and Spirakis 2006)."""
    order = sorted(range(len(hits)), key=lambda at: -(rng.random() ** (1 / weights[at])))
    return [hits[at] for at in order[:_OF_LIST]]


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
