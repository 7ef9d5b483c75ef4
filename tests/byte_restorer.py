"""A restorer without a network: its vectors hold the bytes of a text."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float32

from models.encoders.base import encode_queries
from models.encoders.hashing import HashingEncoder
from models.encoders.restorable.base import Memory, Restoration, RestoredToken
from models.errors import InvalidInput
from models.ops.similarity import normalize

_ENCODER = HashingEncoder(dim=64)


class ByteRestorer:
    """Restores every text to the letter. A text in ``wrong`` comes back as another, with a low confidence."""

    compared = _ENCODER.dim
    stretch = 32
    dim = compared + stretch
    longest = 4
    fingerprint = "restorable:bytes"

    def __init__(self, wrong: dict[str, str] | None = None) -> None:
        self.wrong = wrong or {}
        self.restored = 0

    def fits(self, texts: Sequence[str]) -> list[bool]:
        return [len(text.encode()) <= self.stretch * self.longest for text in texts]

    def meanings(self, texts: Sequence[str]) -> Float32[np.ndarray, "texts compared"]:
        known = [text if text.strip() else "x" for text in texts]
        return normalize(encode_queries(_ENCODER, known)) if known else np.zeros((0, self.compared), np.float32)

    def encode(self, texts: Sequence[str]) -> list[Memory]:
        if not all(self.fits(texts)):
            raise InvalidInput("The text is too long.", hint="Split it into sentences.", field="texts")
        return [self._memory(*pair) for pair in zip(texts, self.meanings(texts), strict=True)]

    def _memory(self, text: str, meaning: Float32[np.ndarray, " compared"]) -> Memory:
        data = np.frombuffer(text.encode(), np.uint8)
        rows = np.zeros((max(1, -(-len(data) // self.stretch)), self.stretch), np.float32)
        rows.reshape(-1)[: len(data)] = data
        return np.concatenate([np.broadcast_to(meaning * self.compared**0.5, (len(rows), self.compared)), rows], 1)

    def restore(
        self, memories: Sequence[Memory], *, beams: int = 1, most_tokens: int | None = None
    ) -> list[Restoration]:
        self.restored += len(memories)
        return [self._restoration(memory) for memory in memories]

    def _restoration(self, memory: Memory) -> Restoration:
        if memory.shape[1:] != (self.dim,) or not np.isfinite(memory).all():
            raise InvalidInput(f"Vectors have {self.dim} numbers.", field="vectors")
        text = bytes(memory[:, self.compared :].astype(np.uint8).reshape(-1).tolist()).rstrip(b"\0").decode()
        if text in self.wrong:
            return Restoration((RestoredToken(self.wrong[text], 0.25),))
        return Restoration((RestoredToken(text, 1.0),))
