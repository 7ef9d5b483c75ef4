"""SLICE: token vectors whose mean over any span represents that span (Orbach et al., 2023, section 3.1)."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float32, Int32, Shaped

from models.artifacts import Artifact
from models.backbones.files import BackboneFiles, of_layer
from models.backbones.opening import load_network_of
from models.backbones.query_network import Precision, QueryNetwork
from models.errors import BackboneMismatch
from models.kernels.products import multiplies_bfloat16
from models.text.tokens import Tokens

if TYPE_CHECKING:
    from models.backbones.torch_network import Backbone

PROJECTION = "projection"  # the array of an artifact that is not a parameter of the backbone: (dim, fewer dimensions)


class SliceEncoder:
    """A backbone with the layers of SLICE training.

    Without an artifact it is the untrained backbone, whose token means are the baseline of the paper's Table 1.
    ``projected`` applies the artifact's projection to fewer dimensions. Sums commute with it: a span's projected vector
    is the sum of its units' projected vectors.

    ``models.backbones.query_network`` encodes queries from the files. Torch is loaded with :attr:`backbone`, for bulk
    indexing, unless the given backbone is loaded already.
    """

    def __init__(self, backbone: BackboneFiles, artifact: Artifact | None = None, *, projected: bool = False) -> None:
        self.files = backbone
        self.dim, self.window = backbone.dim, backbone.window
        self.fingerprint = f"slice.v1-{backbone.fingerprint}"
        self._artifact = artifact
        if artifact:
            check_fits(backbone, artifact)
            self.fingerprint += f"-{artifact.sha256[:24]}"
        self._projection = projection_of(artifact) if projected else None
        if self._projection is not None:
            self.dim = self._projection.shape[1]
            self.fingerprint += f"-{self.dim}d"
        if backbone.in_memory:
            self.backbone  # noqa: B018  later changes to it are meant to change this encoder

    @cached_property
    def backbone(self) -> "Backbone":
        """The network that torch runs, with the trained layers in place."""
        loaded = load_network_of(self.files)
        if loaded.fingerprint != self.files.fingerprint:
            raise BackboneMismatch(
                f"transformers reads the tokenizer in {self.files.folder} differently from its files.",
                hint="Save tokenizer and config again with the installed version of transformers.",
            )
        if self._artifact:
            put_in_place(loaded, self._artifact)
        return loaded

    @property
    def batch_tokens(self) -> int:
        """The number of tokens, padding included, of an efficient batch on the backbone's device."""
        return self.backbone.batch_tokens()

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """The backbone's tokens, without special ones."""
        return self.files.tokenize(texts)

    def forward(
        self, batches: Iterable[Sequence[Int32[np.ndarray, " _tokens"]]]
    ) -> Iterator[list[Float32[np.ndarray, "_tokens dim"]]]:
        """The backbone's last hidden states, projected if there is a projection."""
        for vectors in self.backbone.forward(batches):
            yield self.projected(vectors)

    def forward_query(self, batch: Sequence[Int32[np.ndarray, " _tokens"]]) -> list[Float32[np.ndarray, "_tokens dim"]]:
        """The same up to rounding, without torch if the architecture allows it."""
        if self.query_network is None:
            (vectors,) = self.forward([batch])
            return vectors
        return self.projected(self.query_network(batch))

    def forward_texts(self, batch: Sequence[Int32[np.ndarray, " _tokens"]]) -> list[Float32[np.ndarray, "_tokens dim"]]:
        """The same in bfloat16 where the processor multiplies it natively, as torch does there."""
        if self.text_network is None:
            return self.forward_query(batch)
        return self.projected(self.text_network(batch))

    @cached_property
    def text_network(self) -> QueryNetwork | None:
        """The network for texts; None where that for queries is as fast."""
        size = self.files.bert
        if self.query_network is None or size is None or not multiplies_bfloat16() or size.dim % 2 or size.wide % 2:
            return None
        return self._network("bfloat16")

    @cached_property
    def query_network(self) -> QueryNetwork | None:
        """The network for queries; None unless the backbone is a BERT, and None on a GPU."""
        return None if self.files.in_memory and self.backbone.device.type != "cpu" else self._network()

    def _network(self, precision: Precision = "float32") -> QueryNetwork | None:
        """A network without torch: the files', unless layers were trained."""
        size = self.files.bert
        if size is None or (self._artifact is None and not self.has_network):
            return self.files.network(precision)
        return self.files.network_of(size, self.parameters(), precision)

    @property
    def has_network(self) -> bool:
        """True if torch has loaded the network, which then holds the current parameters."""
        return "backbone" in self.__dict__

    @property
    def hidden_dim(self) -> int:
        """The length of a hidden state: of a vector before projection."""
        return self.files.dim

    @property
    def depth(self) -> int:
        """The number of the backbone's layers."""
        return self.files.depth

    @property
    def weights_sha256(self) -> str:
        """The checksum of the backbone's weights."""
        return self.files.weights_sha256

    def parameters(self) -> dict[str, Shaped[np.ndarray, "..."]]:
        """The current parameters of this encoder's backbone, by name."""
        if self.has_network:
            return self.backbone.parameters()
        return self.files.parameters() | (layers_of_artifact(self._artifact) if self._artifact else {})

    def layer_parameters(self, number: int) -> dict[str, Shaped[np.ndarray, "..."]]:
        """The parameters of one layer, by their names within it."""
        if self.has_network:
            return self.backbone.layer_parameters(number)
        return of_layer(self.parameters(), number)

    def projected(self, batch: list[Float32[np.ndarray, "_tokens whole"]]) -> list[Float32[np.ndarray, "_tokens dim"]]:
        """Hidden states projected to fewer dimensions, if the encoder has a projection."""
        return batch if self._projection is None else [vectors @ self._projection for vectors in batch]


def projection_of(artifact: Artifact | None) -> Float32[np.ndarray, "dim fewer"]:
    """The projection to fewer dimensions. Raises ``BackboneMismatch`` if there is none."""
    if artifact is None or PROJECTION not in artifact.arrays:
        raise BackboneMismatch(
            "These weights hold no projection to fewer dimensions.",
            hint="Use the encoder slice, or weights that spanseek train slice made.",
        )
    return np.array(artifact.arrays[PROJECTION], np.float32)


def put_in_place(backbone: "Backbone", artifact: Artifact) -> None:
    """Load the layers of SLICE training into a backbone. Raises ``BackboneMismatch``."""
    check_fits(backbone, artifact)
    backbone.replace(layers_of_artifact(artifact))


def check_fits(backbone: BackboneFiles, artifact: Artifact) -> None:
    """Raise ``BackboneMismatch`` if the trained layers belong to another backbone."""
    trained_on = artifact.config.get("backbone_sha256")
    if trained_on != backbone.weights_sha256:
        raise BackboneMismatch(
            f"These weights belong to a backbone with SHA-256 {trained_on}, not {backbone.weights_sha256}.",
            hint="Use the backbone they were trained on, or train SLICE weights for this one.",
        )
    parameters, layers = backbone.parameters(), layers_of_artifact(artifact)
    alien = [name for name, array in layers.items() if name not in parameters or parameters[name].shape != array.shape]
    if alien:
        raise BackboneMismatch(
            f"The backbone has no parameters of the same shape for {', '.join(sorted(alien)[:3])}.",
            hint="These weights were made for another architecture: train SLICE weights for this one.",
        )


def layers_of_artifact(artifact: Artifact) -> dict[str, Shaped[np.ndarray, "..."]]:
    """The arrays of the artifact that are parameters of the backbone."""
    return {name: array for name, array in artifact.arrays.items() if name != PROJECTION}
