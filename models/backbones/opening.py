"""Backbones by their names in the settings. The network is loaded only if torch must run it."""

from typing import TYPE_CHECKING

from models.backbones.files import BackboneFiles, open_files
from models.backbones.folders import locate, verified_weights
from models.backbones.packages import DEFAULT

if TYPE_CHECKING:
    from models.backbones.torch_network import Backbone


def open_backbone(source: str = DEFAULT, *, device: str = "auto", window: int = 256) -> BackboneFiles:
    """Open ``package:NAME``, ``hub:OWNER/NAME`` or a local folder; its network is loaded only if torch must run it.

    ``auto`` selects a device when the network is loaded; a GPU given by name must exist now. Raises ``BackboneMissing``
    without a backbone and ``BackboneMismatch`` if a checksum is wrong.
    """
    folder, expected = locate(source)
    sha256 = verified_weights(folder, expected)
    files = open_files(folder, sha256, device=device, window=window) if device in ("auto", "cpu") else None
    if files is not None:
        return files
    from models.backbones.torch_network import Backbone

    return Backbone(folder, device=device, window=window, sha256=sha256)


def load_network_of(files: BackboneFiles) -> "Backbone":
    """The same backbone with its network, which loads torch."""
    from models.backbones.torch_network import Backbone

    if isinstance(files, Backbone):
        return files
    return Backbone(files.folder, device=files.device_name, window=files.shape.window, sha256=files.weights_sha256)
