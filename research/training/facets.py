"""Training of facets: the NNSC loss of eq. 1 and 2, or the k-means loss of the ablation."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from models.artifacts import Artifact, save_artifact
from models.errors import InvalidInput
from models.ops.batching import padded
from models.types import JsonValue
from research.training.facet_data import Ids, Kind, Neighbourhood, draw
from research.training.facet_network import FacetNetwork
from research.training.loop import Checkpoints, LoopHooks, Losses, Schedule, fit
from research.training.word_vectors import mean_vectors
from spanseek_facets.forward import FacetShape
from spanseek_facets.readers import Reader, WordReader
from spanseek_facets.scores import PENALTY, descend
from spanseek_facets.word_vectors import WordVectors

LOSSES = ("nnsc", "kmeans")
_SWEEPS = 6
_READ_WORDS = 10_000


@dataclass(frozen=True, slots=True)
class FacetConfig:
    """A run: where it writes, what it learns, and how."""

    out: Path
    checkpoints: Path
    kind: Kind = "sentences"
    loss: str = "nnsc"
    seed: int = 13
    batch: int = 64
    near: int = 30
    penalty: float = PENALTY
    save_every: int = 100
    shape: FacetShape = field(default_factory=FacetShape)
    schedule: Schedule = field(default_factory=lambda: Schedule(rate=1e-3))
    encoder: str = "untrained"  # the frozen one, where the shape has one

    def facts(self, words: WordVectors, reader: Reader, texts: int, step: int) -> dict[str, JsonValue]:
        """Facts that a reader of the weights must know."""
        facts: dict[str, JsonValue] = {
            "recipe": "facets.v1",
            "word_vectors_sha256": words.sha256,
            "kind": self.kind,
            "loss": self.loss,
            "seed": self.seed,
            "batch": self.batch,
            "near": self.near,
            "penalty": self.penalty,
            "texts": texts,
            "steps": step,
            "shape": asdict(self.shape),
            "schedule": asdict(self.schedule),
        }
        frozen: JsonValue = {"name": self.encoder, "fingerprint": reader.fingerprint}
        return facts | ({} if self.shape.encoder == "small" else {"encoder": frozen})


def train_facets(
    config: FacetConfig,
    words: WordVectors,
    texts: Sequence[Neighbourhood],
    hooks: LoopHooks | None = None,
    reader: Reader | None = None,
) -> Artifact:
    """Train, and save the weights with every checkpoint. Raises ``InvalidInput`` for no texts or an unknown loss.

    ``reader`` has read the texts; by default the words.
    """
    if config.loss not in LOSSES:
        raise InvalidInput(f"There is no loss {config.loss!r}.", hint=f"They are: {', '.join(LOSSES)}.", field="loss")
    if not texts:
        raise InvalidInput("There are no texts to learn from.", hint="Check --extract.", field="extract")
    torch.manual_seed(config.seed)
    network, reader = FacetNetwork(config.shape), reader or WordReader(words)
    if config.shape.encoder == "backbone":
        network.begin_reading(*_vocabulary(words, reader))
    space = torch.from_numpy(words.vectors)
    save = partial(_save, config, network, words, reader, len(texts))
    without_steps = replace(config, schedule=replace(config.schedule, steps=0))
    checkpoints = Checkpoints(
        config.checkpoints, config.save_every, save, run=without_steps.facts(words, reader, len(texts), step=0)
    )
    made = fit(
        dict(network.named_parameters()),
        partial(losses, config, network, space, reader, texts),
        config.schedule,
        checkpoints,
        hooks,
    )
    return save(made)


def losses(
    config: FacetConfig,
    network: FacetNetwork,
    space: Float[Tensor, "vocabulary dim"],
    reader: Reader,
    texts: Sequence[Neighbourhood],
    step: int,
) -> Losses:
    """Eq. 2 of one step: the error on words near the texts, less that on words near others; a mean over words."""
    drawn, near, others = draw(texts, config.batch, config.near, config.seed, step)
    codebook = network(*map(torch.from_numpy, reader.vectors(drawn)))
    assign = nnsc if config.loss == "nnsc" else kmeans
    if config.loss == "kmeans":
        codebook = functional.normalize(codebook, dim=-1)
    return {
        "near": _error(assign, codebook, space, near, config.penalty),
        "others": -_error(assign, codebook, space, others, config.penalty),
    }


def _error(
    assign: Callable[..., Tensor],
    codebook: Float[Tensor, "texts facets dim"],
    space: Float[Tensor, "vocabulary dim"],
    near: Sequence[Ids],
    penalty: float,
) -> Float[Tensor, ""]:
    """The mean squared distance of words from what the facets make of them; coefficients are constants."""
    ids, mask = map(torch.from_numpy, padded(near))
    targets = space[ids]
    with torch.no_grad():
        matrix = assign(codebook, targets, penalty)
    rebuilt = matrix.transpose(1, 2) @ codebook
    return (rebuilt - targets).square().sum(dim=-1)[mask].mean()


def nnsc(
    codebook: Float[Tensor, "texts facets dim"], words: Float[Tensor, "texts words dim"], penalty: float
) -> Float[Tensor, "texts facets words"]:
    """The coefficients of eq. 1."""
    products = codebook @ words.transpose(1, 2) - penalty / 2
    gram = codebook @ codebook.transpose(1, 2)
    matrix: Tensor = descend(gram, products, torch.zeros_like(products), _SWEEPS)
    return matrix


def kmeans(
    codebook: Float[Tensor, "texts facets dim"], words: Float[Tensor, "texts words dim"], penalty: float
) -> Float[Tensor, "texts facets words"]:
    """1 for the facet nearest to a word, else 0.

    Facets must have length 1. A coefficient that cannot shrink makes the error on words near others grow with the
    length of facets, and training would drive it without bound; with NNSC no error exceeds the length of a word.
    """
    nearest = torch.cdist(codebook, words).argmin(dim=1)
    return functional.one_hot(nearest, codebook.shape[1]).transpose(1, 2).to(codebook.dtype)


def _vocabulary(words: WordVectors, reader: Reader) -> tuple[Tensor, Tensor]:
    """The mean vectors of the most frequent words as a reader reads them, and their vectors in the space."""
    places = np.argsort(-words.shares, kind="stable")[:_READ_WORDS]
    read = mean_vectors(reader, [words.words[place] for place in places])
    has = read.any(axis=1)
    return torch.from_numpy(read[has]), torch.from_numpy(words.vectors[places[has]])


def _save(
    config: FacetConfig, network: FacetNetwork, words: WordVectors, reader: Reader, texts: int, step: int
) -> Artifact:
    tensors = {name: tensor.detach().to(torch.float16) for name, tensor in network.state_dict().items()}
    return save_artifact(config.out, tensors, config.facts(words, reader, texts, step))
