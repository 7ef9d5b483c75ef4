"""Networks with what they read by: stretches of their own tokens, or a backbone (configurations a to d of RE)."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from models.backbones.folders import locate
from models.backbones.tokenizer import TextTokenizer
from models.backbones.transformers_network import load_network
from models.encoders.restorable.model import load_restorer
from models.encoders.restorable.reading import Reader, stretch_reader
from models.encoders.restorable.shape import RestorableShape
from models.encoders.restorable.vocabulary import Ids
from research.restorable.network import VariantNetwork


def assemble(shape: RestorableShape, backbone: str = "") -> tuple[VariantNetwork, Reader]:
    """An untrained network and its reader. Over a backbone, named as in the settings, a text has one vector."""
    if not backbone:
        return VariantNetwork(shape), stretch_reader(shape)
    folder, _ = locate(backbone)
    loaded = load_network(folder)
    shape = replace(shape, backbone_dim=loaded.dim, stretch=shape.longest, vectors=1)
    return VariantNetwork(shape, loaded.model), backbone_reader(loaded.tokenizer, loaded.positions or shape.longest)


# Loads weights of any configuration.
load_variant: Final = partial(load_restorer, assemble=assemble)


def backbone_reader(tokenizer: TextTokenizer, positions: int) -> Reader:
    """Reads whole texts by a backbone's tokens, for one vector each; of a long text, what it has positions for."""

    def read(texts: Sequence[str], ids: Sequence[Ids]) -> list[list[Ids]]:
        room = positions - len(tokenizer.prefix) - len(tokenizer.suffix)
        tokens = [each.ids[:room] for each in tokenizer.tokenize(texts)]
        return [[np.concatenate([tokenizer.prefix, row, tokenizer.suffix])] for row in tokens]

    return read
