"""Networks with what they read by: stretches of their own tokens, or a backbone (configurations a to d of RE)."""

from dataclasses import replace

from models.backbones.folders import locate
from models.backbones.transformers_network import load_network
from models.encoders.restorable.network import RestorableNetwork
from models.encoders.restorable.reading import Reader, backbone_reader, stretch_reader
from models.encoders.restorable.shape import RestorableShape


def assemble(shape: RestorableShape, backbone: str = "") -> tuple[RestorableNetwork, Reader]:
    """An untrained network and its reader. Over a backbone, named as in the settings, a text has one vector."""
    if not backbone:
        return RestorableNetwork(shape), stretch_reader(shape)
    folder, _ = locate(backbone)
    loaded = load_network(folder)
    shape = replace(shape, backbone_dim=loaded.dim, stretch=shape.longest, vectors=1)
    return RestorableNetwork(shape, loaded.model), backbone_reader(loaded.tokenizer, loaded.positions or shape.longest)
