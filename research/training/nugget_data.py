"""Batches for nuggets: documents, and documents that say the same. Step ``n`` draws from the seed and ``n``.

A document is a run of sentences, and so is the one that says the same: each sentence in other words, and on either
side some of them left out, as in the paper's paraphrase identification (appendix A.1). The documents of a batch come
from the same places, one behind the other, so that those which do not say the same speak of the same.

Of articles, what a lead section "says the same" as is another section of its article (appendix A.2); the others of the
batch are those of articles nearest in topic.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int, Int32
from torch import Tensor
from torch.nn import functional

from models.backbones.layers import inputs_of, layers_of
from models.backbones.torch_network import Backbone
from models.encoders.nuggets.network import NuggetNetwork, Selected
from models.encoders.nuggets.selectors import Selectors
from models.ops.segment_means import segment_means
from research.nugget_lm.selectors import PUNCTUATION
from research.training.nugget_initialization import boundaries
from research.training.rewrites import RewriteShape, known_synonyms, read_synonyms, rewrite, set_apart
from research.training.sources import PROSE, lines, read_graded_pairs, sentences, split_sentences

Window = Int32[np.ndarray, " _tokens"]
BATCH_TOKENS = 2_048


@dataclass(frozen=True, slots=True)
class ReadNuggets:
    """The nuggets of a step's windows, padded, and the means of the teacher's vectors of their segments."""

    vectors: Float[Tensor, "windows nuggets dim"]
    scores: Float[Tensor, "windows nuggets"]
    real: Bool[Tensor, "windows nuggets"]
    segments: Float[Tensor, "windows nuggets dim"]
    boundary_loss: Float[Tensor, ""]

    def rows(self, numbers: Sequence[int]) -> "ReadNuggets":
        """Some of the windows, in this order."""
        chosen = torch.tensor(numbers, dtype=torch.long, device=self.real.device)
        return ReadNuggets(
            self.vectors[chosen], self.scores[chosen], self.real[chosen], self.segments[chosen], self.boundary_loss
        )


@dataclass(frozen=True, slots=True)
class Reader:
    """The frozen encoder, the network being trained on its layer, who chooses, and who says what segments mean.

    Without a ``teacher`` that is the frozen encoder too.
    """

    backbone: Backbone
    network: NuggetNetwork
    selectors: Selectors
    layer: int
    teacher: Backbone | None = None

    @property
    def _marks(self) -> Int32[np.ndarray, " found"]:
        return self.backbone.ids_of(PUNCTUATION)

    def read(self, windows: Sequence[Window], ratio: float, noise: float, rng: np.random.Generator) -> ReadNuggets:
        """The nuggets of all windows, in order; windows of like length share a pass."""
        order = sorted(range(len(windows)), key=lambda number: len(windows[number]))
        step = max(1, BATCH_TOKENS // max(len(windows[order[-1]]), 1))
        parts = [order[begin : begin + step] for begin in range(0, len(order), step)]
        read_parts = [self._read([windows[number] for number in part], ratio, noise, rng) for part in parts]
        back = torch.from_numpy(np.argsort(order)).to(read_parts[0].real.device)
        width = max(part.real.shape[1] for part in read_parts)
        return ReadNuggets(
            torch.cat([_wide(part.vectors, width) for part in read_parts])[back],
            torch.cat([_wide(part.scores[..., None], width)[..., 0] for part in read_parts])[back],
            torch.cat([_wide(part.real[..., None], width)[..., 0] for part in read_parts])[back],
            torch.cat([_wide(part.segments, width) for part in read_parts])[back],
            torch.stack([part.boundary_loss * len(part.real) for part in read_parts]).sum() / len(windows),
        )

    def _read(self, windows: Sequence[Window], ratio: float, noise: float, rng: np.random.Generator) -> ReadNuggets:
        ids, mask = self.backbone.pad(windows)
        with torch.no_grad(), inputs_of(layers_of(self.backbone.model)[self.layer]) as seen:
            states = self.backbone.hidden(ids, mask).float()
            taught = self.teacher.hidden(ids, mask).float() if self.teacher else states
        choose = self.selectors.of(windows, ratio)

        def select(row: int, scores: Float32[np.ndarray, " tokens"]) -> Int[np.ndarray, " nuggets"]:
            return choose(row, scores + noise * rng.gumbel(size=len(scores)).astype(np.float32))

        with self.backbone.precision():
            selected: Selected = self.network(seen[0], self.backbone.begin, [len(window) for window in windows], select)
        means = segment_means(taught, selected.positions, selected.real, self.backbone.begin)
        loss = self._boundary_loss(selected, states, windows, ratio)
        return ReadNuggets(selected.vectors.float(), selected.scores.float(), selected.real, means, loss)

    def _boundary_loss(
        self, selected: Selected, states: Float[Tensor, "windows padded dim"], windows: Sequence[Window], ratio: float
    ) -> Float[Tensor, ""]:
        """Logistic loss of the scores in telling where the best segments of this ratio end."""
        targets, scores = [], []
        for row, window in enumerate(windows):
            places = slice(self.backbone.begin, self.backbone.begin + len(window))
            targets.append(boundaries(states[row, places].cpu().numpy(), (ratio,), np.isin(window, self._marks))[0])
            scores.append(selected.all_scores[row, places].float())
        labels = torch.from_numpy(np.concatenate(targets)).to(states.device)
        return functional.binary_cross_entropy_with_logits(torch.cat(scores), labels)


def _wide(rows: Tensor, width: int) -> Tensor:
    """Rows with room for so many nuggets."""
    return functional.pad(rows, (0, 0, 0, width - rows.shape[1]))


_WORDS = re.compile(r"[a-z]{3,}")
_ALIKE = 0.8  # graded pairs from here on mean the same
_LEAST_KNOWN = 20  # how often texts must use a word for it to stand for another
LONGEST = 60  # words of a sentence; a longer one is cut


_AMONG = 3  # of so many times as many neighbours the articles of a step are drawn


@dataclass(frozen=True, slots=True)
class Sections:
    """The lead section of an article, and others of its sections."""

    lead: str
    others: Sequence[str]


@dataclass(frozen=True, slots=True)
class NuggetTexts:
    """Material of documents: prose in its order, by kind; pairs of sentences that say the same; synonyms.

    And articles, of which ``near`` gives the numbers of those nearest in topic to one of them, itself among them.
    """

    prose: Mapping[str, Sequence[str]]
    pairs: Sequence[tuple[str, str]]
    synonyms: Mapping[str, Sequence[str]]
    articles: Sequence[Sections] = ()
    near: Callable[[int, int], Sequence[int]] | None = None


NO_TEXTS = NuggetTexts({}, [], {})


@dataclass(frozen=True, slots=True)
class NuggetShape:
    """Draw of a step: the number of documents, their words, and how many of them are made of pairs of sentences.

    A document keeps between ``least_kept`` and ``most_kept`` of its sentences on either side: the fewer, the less two
    documents that say the same have in common. ``of_articles`` come on top of the ``documents``.
    """

    documents: int = 12
    of_pairs: int = 4
    of_articles: int = 0
    places: int = 2
    fewest_words: int = 60
    most_words: int = 180
    least_kept: float = 0.4
    most_kept: float = 0.9
    rewrites: RewriteShape = field(default_factory=RewriteShape)


@dataclass(frozen=True, slots=True)
class Likeness:
    """A document, and one that says the same."""

    source: str
    target: str


def read_nugget_texts(folder: Path, excluded: Sequence[str]) -> NuggetTexts:
    """Everything the shipped weights learn from, of one data folder; no pair with an excluded sentence."""
    prose = {name: list(source.read(folder)) for name, source in PROSE.items()}
    pairs = [(long, " ".join(parts)) for long, parts in split_sentences(folder)]
    graded = [pair for pair in read_graded_pairs(folder, excluded) if pair.score >= _ALIKE]
    pairs += [(pair.query, pair.paraphrase) for pair in graded]
    pairs += list(_entailments(folder))
    used = Counter(word for texts in prose.values() for text in texts[::4] for word in _WORDS.findall(text.lower()))
    return NuggetTexts(prose, pairs, known_synonyms(read_synonyms(folder), used, _LEAST_KNOWN))


def draw_likenesses(texts: NuggetTexts, shape: NuggetShape, seed: int, step: int) -> list[Likeness]:
    """The documents of one step, each with one that says the same."""
    rng = random.Random(f"nugget/{seed}/{step}")  # noqa: S311  sampling, not secrets
    words = rng.randint(shape.fewest_words, shape.most_words)
    of_pairs = shape.of_pairs if texts.pairs else 0
    of_prose = shape.documents - of_pairs if texts.prose else 0
    sides = [_of_pairs(texts, words, rng) for _ in range(shape.documents - of_prose)]
    places = min(max(1, shape.places), of_prose)
    for place in range(places):
        many = of_prose * (place + 1) // places - of_prose * place // places
        sides += [_of_prose(paragraphs, texts, shape, rng) for paragraphs in _neighbours(texts, words, many, rng)]
    return [_likeness(side, shape, rng) for side in sides] + _of_articles(texts, shape, seed, step)


# The sentences of a document, each in its two wordings.
Sides = list[tuple[str, str]]


def _of_pairs(texts: NuggetTexts, words: int, rng: random.Random) -> Sides:
    """Sentences that have nothing to do with each other, as people said them twice."""
    sides: Sides = []
    while sum(len(one.split()) for one, _ in sides) < words:
        pair = rng.choice(texts.pairs)
        sides.append(pair if rng.random() < 0.5 else pair[::-1])
    return sides


def _of_prose(paragraphs: Sequence[str], texts: NuggetTexts, shape: NuggetShape, rng: random.Random) -> Sides:
    """Sentences, each beside itself in other words."""
    return [(sentence, rewrite(sentence, texts.synonyms, rng, shape.rewrites)) for sentence in paragraphs]


def _neighbours(texts: NuggetTexts, words: int, many: int, rng: random.Random) -> Iterator[list[str]]:
    """Runs of sentences of about so many words, one behind the other from some place on."""
    kinds = sorted(texts.prose)
    paragraphs = texts.prose[rng.choices(kinds, [len(texts.prose[name]) ** 0.5 for name in kinds])[0]]
    at = rng.randrange(len(paragraphs))
    neighbours: list[str] = []
    held = 0
    while many:
        for sentence in sentences(paragraphs[at % len(paragraphs)]):
            neighbours.append(" ".join(sentence.split()[:LONGEST]))
            held += len(sentence.split())
            if held >= words and many:
                yield neighbours
                neighbours, held, many = [], 0, many - 1
        at += 1


def _of_articles(texts: NuggetTexts, shape: NuggetShape, seed: int, step: int) -> list[Likeness]:
    """Leads of articles that speak of the same, each with another section of its own."""
    if not (shape.of_articles and texts.near):
        return []
    # With a source of its own, so that steps with articles have the same other documents as those without.
    rng = random.Random(f"articles/{seed}/{step}")  # noqa: S311  sampling, not secrets
    first = rng.randrange(len(texts.articles))
    near = [number for number in texts.near(first, _AMONG * shape.of_articles) if number != first]
    chosen = [first, *rng.sample(near, min(len(near), shape.of_articles - 1))]
    articles = [texts.articles[number] for number in chosen]
    return [Likeness(article.lead, rng.choice(article.others)) for article in articles]


def _likeness(sides: Sides, shape: NuggetShape, rng: random.Random) -> Likeness:
    """Both sides less some sentences, each on its own; sometimes with signs set apart."""
    keep = rng.uniform(shape.least_kept, shape.most_kept)
    first, second = (_some([pair[side] for pair in sides], keep, rng) for side in (0, 1))
    if rng.random() < 0.5:
        first, second = second, first
    style = set_apart if rng.random() < 0.5 else str
    return Likeness(style(" ".join(first)), style(" ".join(second)))


def _some(items: Sequence[str], share: float, rng: random.Random) -> Sequence[str]:
    return [sentence for sentence in items if rng.random() < share] or items


def _entailments(folder: Path) -> Iterable[tuple[str, str]]:
    """A caption and what follows from it (SNLI)."""
    for line in lines(folder / "snli/snli_1.0_dev.jsonl.gz"):
        row = json.loads(line)
        if row["gold_label"] == "entailment":
            yield row["sentence1"], row["sentence2"]
