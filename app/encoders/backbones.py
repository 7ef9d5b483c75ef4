"""Backbones by name: each is opened once, for all models that read it."""

from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from models.backbones.files import BackboneFiles


class Backbones:
    """The backbones of a process. Encoders over one of them share its tokenizer, its files and its arrays.

    One whose network is in memory at once, such as on a GPU that the settings name, is opened anew for every encoder:
    training puts layers in place there.
    """

    def __init__(self) -> None:
        self._opened: dict[tuple[str, str], "BackboneFiles"] = {}
        self._lock = Lock()

    def open(self, source: str, device: str) -> "BackboneFiles":
        """The backbone of this name. Raises as ``models.backbones.files.open_backbone`` does."""
        from models.backbones.opening import open_backbone  # numba, which commands that encode nothing do without

        with self._lock:
            opened = self._opened.get((source, device)) or open_backbone(source, device=device)
            if not opened.in_memory:
                self._opened[source, device] = opened
            return opened
