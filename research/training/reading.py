"""How training reads texts: the encoder being trained with a gradient, the frozen one span by span."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from models import units
from models.backbones import Backbone
from models.errors import InvalidInput
from models.tokens import UnitTokens, join

TEACHER_BATCH = 64
STUDENT_BATCH = 14


def first_windows(backbone: Backbone, texts: Sequence[str]) -> list[UnitTokens]:
    """The units of every text that one forward pass reads: all of them, unless the text is longer than a window."""
    found = zip(texts, backbone.tokenize(texts), strict=True)
    return [_first_window(text, join(units.split(text), tokens), backbone.window) for text, tokens in found]


def _first_window(text: str, joined: UnitTokens, window: int) -> UnitTokens:
    count = int(np.searchsorted(joined.last, window, side="right"))
    if not count:
        raise InvalidInput(
            f"A text to be trained on holds no words that can be read: {text[:60]!r}",
            hint="Leave it out of the training data.",
        )
    return replace(
        joined,
        spans=joined.spans[:count],
        first=joined.first[:count],
        last=joined.last[:count],
        unknown=joined.unknown[:count],
    )


def unit_vectors(
    backbone: Backbone, joined: Sequence[UnitTokens]
) -> tuple[Float[Tensor, "texts units dim"], Int[Tensor, " texts"]]:
    """Unit vectors of every text, padded with zeros, and how many there are; texts of like length share a pass."""
    longest = max(map(len, joined))
    order = sorted(range(len(joined)), key=lambda number: len(joined[number].tokens.ids))
    parts = [order[begin : begin + STUDENT_BATCH] for begin in range(0, len(order), STUDENT_BATCH)]
    vectors = torch.cat([_units_of(backbone, [joined[number] for number in part], longest) for part in parts])
    counts = torch.tensor([len(of_text) for of_text in joined], device=vectors.device)
    return vectors[torch.from_numpy(np.argsort(order)).to(vectors.device)], counts


def _units_of(backbone: Backbone, joined: Sequence[UnitTokens], longest: int) -> Float[Tensor, "texts units dim"]:
    ids, mask = backbone.pad([of_text.tokens.ids[: backbone.window] for of_text in joined])
    hidden = backbone.hidden(ids, mask).float()
    first, last = (np.zeros((len(joined), longest), np.int64) for _ in range(2))
    for row, of_text in enumerate(joined):
        first[row, : len(of_text)], last[row, : len(of_text)] = of_text.first, of_text.last
    prefix = functional.pad(hidden.cumsum(dim=1), (0, 0, 1, 0))
    special = 1  # the one special token that stands before a text
    rows = torch.arange(len(joined), device=hidden.device)[:, None]
    ends, begins = (torch.from_numpy(bound + special).to(hidden.device) for bound in (last, first))
    return prefix[rows, ends] - prefix[rows, begins]


def alone(teacher: Backbone, texts: Sequence[str]) -> Float[Tensor, "texts dim"]:
    """What the frozen backbone makes of texts on their own: unit-length means of token vectors."""
    tokens = teacher.tokenize(texts)
    order = sorted(range(len(texts)), key=lambda number: len(tokens[number].ids))
    batches = [order[begin : begin + TEACHER_BATCH] for begin in range(0, len(order), TEACHER_BATCH)]
    outputs = teacher.forward([tokens[number].ids[: teacher.window] for number in batch] for batch in batches)
    vectors = np.zeros((len(texts), teacher.dim), np.float32)
    for batch, found in zip(batches, outputs, strict=True):
        vectors[batch] = np.stack([of_text.mean(axis=0) for of_text in found])
    return functional.normalize(torch.from_numpy(vectors), dim=-1)
