"""Interface of a benchmarked engine. Implementations import their packages at the top: they run in its environment."""

from pathlib import Path
from typing import Literal, Protocol, TypeAlias

import numpy as np
from jaxtyping import Int

from research.benchmarks.case import Case, Queries

# Best first, at most ``TOP_K``: spans [answers, 2] in units of the case, or passages [answers].
Answers: TypeAlias = Int[np.ndarray, "answers ..."]
Finds = Literal["spans", "passages"]


class Refused(Exception):
    """The engine cannot take this corpus on this machine; the message says why."""


class BenchEngine(Protocol):
    """One engine on one corpus. ``build`` leaves files, ``open`` reads them, so that either can be measured alone."""

    def build(self, case: Case, folder: Path) -> None:
        """Make the index, in a folder that is there and empty. Raises ``Refused``."""

    def open(self, case: Case, folder: Path) -> None:
        """Make ready to search what ``build`` left in the folder."""

    def search(self, queries: Queries) -> list[Answers]:
        """The answers to every query, asked together."""

    def size(self, folder: Path) -> int:
        """Bytes that the engine needs on the disk to search."""


def folder_size(folder: Path) -> int:
    """The bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
