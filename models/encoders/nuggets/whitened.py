"""Nuggets whitened for their collection, so that components common to all its texts count least.

Trained weights cannot know the subject of a collection. If every document is a contract, every nugget points a little
towards contracts, and the differences between them are small. A matrix fitted to a sample of the collection removes
the common component. It needs no labels, and changes neither the selection of nuggets nor the token vectors.
"""

import hashlib
import os
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from fcntl import LOCK_EX, flock
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Int32
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from models.atomic import PARTIAL_FILES, fsync, make_folder, replacing
from models.encoders.nuggets.base import NuggetEncoder, Nuggets, ReadWindow
from models.errors import BackboneMissing
from models.ops.batching import even_windows
from models.ops.sampling import sample
from models.ops.similarity import normalize
from models.ops.whitening import Whitening, second_moment, whitening

# The number of windows that a whitening is fitted to. The identity counts as much as this many windows.
WINDOWS = 512
_BATCH = 16
_SEED = "whitening/1"
_NAME = re.compile(r"(?P<trained>.+)-w(?P<name>[0-9a-f]{24})")


class WhitenedNuggets:
    """The nuggets of ``trained``, multiplied by a symmetric matrix and normalised to length 1.

    >>> from models.encoders.hashing import HashingEncoder
    >>> from models.encoders.nuggets.hashing import HashingNuggetEncoder
    >>> trained = HashingNuggetEncoder(HashingEncoder(dim=4))
    >>> whitened = WhitenedNuggets(trained, fit_whitening(trained, ["one two three", "one four"], ratio=0.5))
    >>> (tokens,) = trained.base.tokenize(["one two"])
    >>> (((_, nuggets),),) = whitened.forward([[tokens.ids]], 0.5)
    >>> nuggets.vectors.shape
    (1, 4)
    """

    def __init__(self, trained: NuggetEncoder, matrix: Float32[np.ndarray, "dim dim"]) -> None:
        self._trained = trained
        self._matrix = matrix
        self.base, self.dim, self.layer = trained.base, trained.dim, trained.layer
        self.fingerprint = f"{trained.fingerprint}-w{_name(matrix)}"

    def forward(
        self, batches: Iterable[Sequence[Int32[np.ndarray, " _tokens"]]], ratio: float
    ) -> Iterator[list[ReadWindow]]:
        """The token vectors and selected nuggets of ``trained``, with whitened nugget vectors."""
        for read in self._trained.forward(batches, ratio):
            yield [(vectors, self._whitened(nuggets)) for vectors, nuggets in read]

    def forward_query(self, batch: Sequence[Int32[np.ndarray, " _tokens"]], ratio: float) -> list[Nuggets]:
        """The nuggets of a few windows, whitened."""
        return [self._whitened(nuggets) for nuggets in self._trained.forward_query(batch, ratio)]

    def _whitened(self, nuggets: Nuggets) -> Nuggets:
        return replace(nuggets, vectors=normalize(nuggets.vectors @ self._matrix).astype(np.float32))

    def save(self, folder: Path) -> None:
        """Store the matrix where :func:`load_whitened` finds it, synced before a catalog refers to it. Idempotent."""
        make_folder(folder)
        path = _path(folder, _name(self._matrix))
        with _in_turn(folder) as is_alone:
            for left in folder.glob(PARTIAL_FILES) if is_alone else ():  # by a process that was killed
                left.unlink(missing_ok=True)
            with suppress(ValueError):
                check_whitening(path, self.dim)
                fsync(folder)  # which a process that was killed may have left undone
                return
            with replacing(path) as partial:
                partial.write_bytes(save({"matrix": self._matrix}))


@contextmanager
def _in_turn(folder: Path) -> Iterator[bool]:
    """Run the block while no other thread or process runs one in this folder; False where there are no locks."""
    descriptor, has_locks = os.open(folder, os.O_RDONLY), False
    try:
        with suppress(OSError):
            flock(descriptor, LOCK_EX)
            has_locks = True
        yield has_locks
    finally:
        os.close(descriptor)


def load_whitened(trained: NuggetEncoder, fingerprint: str, folder: Path) -> WhitenedNuggets | None:
    """The nuggets of this fingerprint; None if it is not one of ``trained``, whitened.

    Raises ``BackboneMissing`` if the matrix is missing from the folder or damaged.
    """
    match = _NAME.fullmatch(fingerprint)
    if match is None or match["trained"] != trained.fingerprint:
        return None
    path = _path(folder, match["name"])
    try:
        whitened = WhitenedNuggets(trained, load_file(path)["matrix"])
    except (OSError, SafetensorError, KeyError) as error:
        raise _missing(path) from error
    if whitened.fingerprint != fingerprint:
        raise _missing(path)
    return whitened


def check_whitening(path: Path, dim: int) -> None:
    """Raise ``ValueError`` for a file that is not the matrix of this dimension that its name stands for."""
    try:
        matrix = load_file(path)["matrix"]
    except (OSError, SafetensorError, KeyError) as error:
        raise ValueError(f"the whitening {path.name} cannot be read") from error
    if matrix.shape != (dim, dim) or matrix.dtype != np.float32 or _name(matrix) != path.stem:
        raise ValueError(f"the whitening {path.name} is another one")


def whitening_path(fingerprint: str, folder: Path) -> Path | None:
    """The file of the matrix that a fingerprint names; None for the nuggets as trained."""
    match = _NAME.fullmatch(fingerprint)
    return None if match is None else _path(folder, match["name"])


def remove_whitening(fingerprint: str, folder: Path, is_used: Callable[[], bool]) -> None:
    """Remove the matrix of a fingerprint that no collection uses.

    ``is_used`` is called again after the matrix was renamed: a new collection may use it by then.
    """
    name = _NAME.fullmatch(fingerprint)
    if name is None or is_used():
        return
    path = _path(folder, name["name"])
    aside = path.with_suffix(".removed")
    with suppress(FileNotFoundError):
        path.replace(aside)
        if is_used():
            aside.replace(path)
        else:
            aside.unlink()


def fit_whitening(trained: NuggetEncoder, texts: Iterable[str], ratio: float) -> Float32[np.ndarray, "dim dim"]:
    """The matrix that whitens the nuggets of a sample of texts; for few texts it is close to the identity.

    The sample is drawn in one pass, with a fixed seed.
    """
    rng = random.Random(_SEED)  # noqa: S311  sampling, not secrets
    tokens = trained.base.tokenize(sample(texts, WINDOWS, rng))
    windows = [window for each in tokens for window in even_windows(each.ids, trained.base.window) if len(window)]
    drawn = sorted(sample(windows, WINDOWS, rng), key=len)
    if not drawn:
        return np.eye(trained.dim, dtype=np.float32)
    batches = [drawn[begin : begin + _BATCH] for begin in range(0, len(drawn), _BATCH)]
    vectors = np.concatenate([nuggets.vectors for read in trained.forward(batches, ratio) for _, nuggets in read])
    return whitening(second_moment(vectors), Whitening(exponent=1, floor=WINDOWS / len(drawn)))


def _name(matrix: Float32[np.ndarray, "dim dim"]) -> str:
    return hashlib.sha256(np.ascontiguousarray(matrix).tobytes()).hexdigest()[:24]


def _path(folder: Path, name: str) -> Path:
    return folder / f"{name}.safetensors"


def _missing(path: Path) -> BackboneMissing:
    return BackboneMissing(
        f"{path} does not hold the whitening of this collection's nuggets.",
        hint="Put back the folder from the backup of the data folder, or index the documents into a new collection.",
    )
