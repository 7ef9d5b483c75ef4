"""Start of the training of restorable embeddings: a vocabulary learnt from the texts, and an untrained network."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from models.backbones.devices import resolve_device
from models.encoders.restorable.reading import Reader
from models.encoders.restorable.shape import RestorableShape
from models.encoders.restorable.vocabulary import Vocabulary
from research.restorable.assembly import assemble
from research.restorable.network import VariantNetwork


@dataclass(frozen=True, slots=True)
class Start:
    """A network, its vocabulary, how it reads texts, and the name of its backbone, empty for none."""

    network: VariantNetwork
    vocabulary: Vocabulary
    reader: Reader
    backbone: str = ""


def begin(
    shape: RestorableShape, texts: Sequence[str], size: int, seed: int, backbone: str = "", device: str = "cpu"
) -> Start:
    """An untrained network with the vocabulary of so many tokens that writes the texts shortest.

    Raises ``DeviceUnavailable``.
    """
    vocabulary = Vocabulary.learn(texts, size)
    torch.manual_seed(seed)
    network, reader = assemble(replace(shape, vocabulary=vocabulary.size), backbone)
    return Start(network.to(resolve_device(device)), vocabulary, reader, backbone)
