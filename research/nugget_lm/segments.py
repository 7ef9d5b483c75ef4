"""Texts cut into segments of equal length: what a language model reads, and what stands behind it (section 6.2)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import torch
from jaxtyping import Int, Int32
from torch import Tensor

from models.backbones.torch_network import Backbone
from models.text.tokens import Tokens

Window = Int32[np.ndarray, " _tokens"]
IGNORED = -100  # stands where nothing is to be said


@dataclass(frozen=True, slots=True)
class Segments:
    """Segments of texts, in order; ``first`` is the number of the first segment of the same text.

    ``unknown`` is the id of the tokens that stand for words which the vocabulary does not have.
    """

    windows: Sequence[Window]
    first: Int[np.ndarray, " segments"]
    unknown: int

    def __len__(self) -> int:
        return len(self.windows)

    def before(self, segment: int, history: int) -> range:
        """The segments of the same text before one of them: at most so many, the nearest last.

        >>> from models.encoders.hashing import HashingEncoder
        >>> segments = cut_segments(HashingEncoder().tokenize(["six words are cut in three"]), 2, -1)
        >>> segments.before(2, 1), segments.before(2, 8), segments.before(2, 0)
        (range(1, 2), range(0, 2), range(2, 2))
        """
        return range(max(int(self.first[segment]), segment - history), segment)


def cut_segments(
    texts: Iterable[Tokens], length: int, unknown: int, most: int | None = None, of_text: int | None = None
) -> Segments:
    """Cut every text into segments of so many tokens; the last one of a text has what is left.

    With ``most`` it ends with the text that brings that many; of a text at most the first ``of_text`` are taken.

    >>> from models.encoders.hashing import HashingEncoder
    >>> tokens = HashingEncoder().tokenize(["five words are cut here", "two words", "left out"])
    >>> segments = cut_segments(tokens, 2, -1, most=4)
    >>> [len(window) for window in segments.windows], segments.first.tolist()
    ([2, 2, 1, 2], [0, 0, 0, 3])
    """
    windows: list[Window] = []
    counts: list[int] = []
    for tokens in texts:
        if most is not None and len(windows) >= most:
            break
        pieces = [tokens.ids[start : start + length] for start in range(0, len(tokens.ids), length)][:of_text]
        windows += pieces
        counts.append(len(pieces))
    begins = [0, *accumulate(counts)][: len(counts)]
    return Segments(windows, np.repeat(np.array(begins, np.int64), counts), unknown)


def spoken(
    backbone: Backbone, segments: Segments, numbers: Sequence[int]
) -> tuple[Int[Tensor, "texts target"], Int[Tensor, "texts target"]]:
    """Inputs and targets of some segments; unknown words are left out."""
    windows = [segments.windows[number] for number in numbers]
    lengths = np.array([len(window) for window in windows])
    real = np.arange(lengths.max()) < lengths[:, None]
    following = np.full(real.shape, IGNORED, np.int64)
    following[real] = np.concatenate(windows)
    # Every text begins with the first of the special tokens; what is given of padding predicts nothing.
    begin = int(backbone.pad([windows[0][:0]])[0][0, 0])
    given = np.concatenate([np.full((len(windows), 1), begin), np.where(real, following, begin)[:, :-1]], axis=1)
    following[following == segments.unknown] = IGNORED
    return torch.from_numpy(given).to(backbone.device), torch.from_numpy(following).to(backbone.device)


def tokens_with_unknown(backbone: Backbone, text: str, mark: str) -> Tokens:
    """The tokens of a text in which ``mark`` stands for every word that was left out: each is an unknown token.

    Their spans are those in the pieces between the marks.
    """
    unknown = Tokens(np.array([backbone.unknown], np.int32), np.zeros((1, 2), np.int64), np.array([True]))
    pieces = backbone.tokenize(text.split(mark))
    parts = [part for piece in pieces for part in (unknown, piece)][1:]
    return Tokens(*(np.concatenate([getattr(part, name) for part in parts]) for name in Tokens.__slots__))
