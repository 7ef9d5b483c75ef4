"""An encoder whose forward passes were made beforehand, and a server that has it: writing without encoding.

    python -m research.benchmarks.prepared FOLDER

Serves as ``spanseek serve`` does, but documents' vectors are read from the folder that :func:`save` wrote. Queries are
encoded as ever.

======================  =============================================================
``ids.npy``             int32 [tokens]: the tokens of all windows, one behind the other
``bounds.npy``          int64 [windows + 1]: where each begins, and the number of tokens
``vectors.npy``         float32 [tokens, dim]: their vectors
======================  =============================================================
"""

import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Int32

from app.encoders.encoders import Encoders
from app.main import serve
from app.settings import Settings
from indexer.indexing.encode import encode, split
from models.encoders.base import Encoder
from models.errors import InvalidInput
from models.text.tokens import Tokens
from models.types import Document

Window = Int32[np.ndarray, " _tokens"]
Vectors = Float32[np.ndarray, "_tokens dim"]


class _Based:
    """Members that an encoder shares with the one that it stands before."""

    def __init__(self, base: Encoder) -> None:
        self._base = base
        self.dim, self.fingerprint = base.dim, base.fingerprint
        self.window, self.batch_tokens = base.window, base.batch_tokens

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """The base's tokens."""
        return self._base.tokenize(texts)

    def forward_query(self, batch: Sequence[Window]) -> list[Vectors]:
        """The base's vectors."""
        return self._base.forward_query(batch)


class PreparedEncoder(_Based):
    """Knows the vectors of some windows, by the bytes of their tokens, and makes none.

    >>> from models.encoders.hashing import HashingEncoder
    >>> from models.types import Part
    >>> base = HashingEncoder(dim=8)
    >>> known = prepare(base, [Document("a", (Part("late fee"),))])
    >>> encoder, ids = PreparedEncoder(base, known), base.tokenize(["late fee"])[0].ids
    >>> bool((next(encoder.forward([[ids]]))[0] == next(base.forward([[ids]]))[0]).all())
    True
    """

    def __init__(self, base: Encoder, known: Mapping[bytes, Vectors]) -> None:
        super().__init__(base)
        self._known = known

    def forward(self, batches: Iterable[Sequence[Window]]) -> Iterator[list[Vectors]]:
        """The known vectors; raises ``InvalidInput`` for a window that was not prepared."""
        for batch in batches:
            yield [self._of(ids) for ids in batch]

    def _of(self, ids: Window) -> Vectors:
        vectors = self._known.get(ids.tobytes())
        if vectors is None:
            raise InvalidInput(
                f"A window of {len(ids)} tokens was not prepared.", hint="Write the documents that were prepared."
            )
        return vectors


class _Recorder(_Based):
    """Keeps what its base says of every window."""

    def __init__(self, base: Encoder) -> None:
        super().__init__(base)
        self.known: dict[bytes, Vectors] = {}

    def forward(self, batches: Iterable[Sequence[Window]]) -> Iterator[list[Vectors]]:
        """The base's vectors."""
        for batch in batches:
            (token_vectors,) = self._base.forward([batch])
            self.known |= {ids.tobytes(): vectors for ids, vectors in zip(batch, token_vectors, strict=True)}
            yield token_vectors


def prepare(encoder: Encoder, documents: Sequence[Document]) -> dict[bytes, Vectors]:
    """The vectors of every window that indexing the documents reads, by the bytes of its tokens."""
    recorder = _Recorder(encoder)
    pools = encode(recorder, split(recorder, [(document, "") for document in documents]), encoder.batch_tokens)
    deque(pools, maxlen=0)
    return recorder.known


def save(folder: Path, known: Mapping[bytes, Vectors]) -> None:
    """Write what :func:`prepare` made."""
    windows = [np.frombuffer(each, np.int32) for each in known]
    np.save(folder / "ids.npy", np.concatenate(windows))
    np.save(folder / "bounds.npy", np.cumsum([0, *map(len, windows)], dtype=np.int64))
    np.save(folder / "vectors.npy", np.concatenate(list(known.values())))


def load(folder: Path) -> dict[bytes, Vectors]:
    """Read what :func:`save` wrote; vectors stay in their file."""
    ids, vectors = np.load(folder / "ids.npy"), np.load(folder / "vectors.npy", mmap_mode="r")
    bounds = pairwise(np.load(folder / "bounds.npy").tolist())
    return {ids[begin:end].tobytes(): vectors[begin:end] for begin, end in bounds}


def main() -> None:
    """Serve."""
    settings = Settings()
    base = Encoders(settings.encoder_options).load(settings.encoder)
    prepared = PreparedEncoder(base, load(Path(sys.argv[1])))
    serve(settings, Encoders.of({settings.encoder: prepared}))


if __name__ == "__main__":
    main()
