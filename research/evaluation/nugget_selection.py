"""Tokens chosen as nuggets, and what each nugget holds: figures 5, 7 and 8 of the Nugget paper."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from models.backbones.torch_network import Backbone
from research.nugget_lm.histories import Histories, Read, gather
from research.nugget_lm.nugget_lm import NuggetLanguageModel
from research.nugget_lm.segments import Segments, spoken


@dataclass(frozen=True, slots=True)
class Chosen:
    """A token, its share of all nuggets, and its share of all tokens."""

    token: str
    of_nuggets: float
    of_text: float


def chosen_tokens(backbone: Backbone, segments: Segments, histories: Histories, most: int) -> list[Chosen]:
    """The tokens that are nuggets most often, most frequent first."""
    of_text = Counter(int(token) for window in segments.windows for token in window)
    picked = ((number, place) for number in range(len(segments)) for place in histories.places(number))
    of_nuggets = Counter(int(segments.windows[number][place]) for number, place in picked)
    nuggets, tokens = max(1, of_nuggets.total()), max(1, of_text.total())
    return [
        Chosen(backbone.token(token), round(count / nuggets, 6), round(of_text[token] / tokens, 6))
        for token, count in of_nuggets.most_common(most)
    ]


@dataclass(frozen=True, slots=True)
class Gains:
    """The mean gain in log likelihood of a token from reading a single nugget (eq. 9).

    ``by_distance`` is of tokens so many places behind the nugget (before it: below 0); ``by_place`` of the tokens at a
    place of the segment, given its first, second ... nugget, of which ``nugget_places`` says how often it is there.
    """

    by_distance: Mapping[int, float]
    by_place: Mapping[int, Mapping[int, float]]
    nugget_places: Mapping[int, Mapping[int, float]]

    def as_json(self) -> dict[str, Any]:
        """Gains by distance, and the means over the tokens before, at and behind a nugget."""
        return {"by_distance": {str(distance): round(gain, 6) for distance, gain in self.by_distance.items()}}


def single_nugget_gains(
    model: NuggetLanguageModel, backbone: Backbone, segments: Segments, histories: Histories, most: int
) -> Gains:
    """Gains over the first so many segments of full length, whose nuggets are read one at a time."""
    length = model.shape.segment
    distances, by_place = _Means(), _Means()
    nugget_places: Counter[tuple[int, int]] = Counter()
    whole = (number for number, window in enumerate(segments.windows) if len(window) == length)
    for number in islice(whole, most):
        places = histories.places(number)
        for nth, (at, gains) in enumerate(
            zip(places, _gains(model, backbone, segments, histories, number), strict=True)
        ):
            nugget_places[nth, int(at)] += 1
            for place, gain in enumerate(gains):
                if np.isfinite(gain):
                    distances.add(place - int(at), gain)
                    by_place.add((nth, place), gain)
    means = by_place.means()
    nths = sorted({nth for nth, _ in means})
    return Gains(
        dict(sorted(distances.means().items())),
        {nth: {place: gain for (which, place), gain in sorted(means.items()) if which == nth} for nth in nths},
        {nth: _shares({at: many for (which, at), many in nugget_places.items() if which == nth}) for nth in nths},
    )


def _gains(
    model: NuggetLanguageModel, backbone: Backbone, segments: Segments, histories: Histories, number: int
) -> Float[np.ndarray, "nuggets tokens"]:
    """Probability that each nugget alone adds to every token; NaN for tokens that do not count."""
    many = len(histories.places(number))
    given, following = spoken(backbone, segments, [number])
    read = gather(histories, [[number]] * (many + 1), [number] * (many + 1))
    alone = torch.cat([torch.zeros(1, many, dtype=torch.bool), torch.eye(many, dtype=torch.bool)])
    shown = replace(read, real=alone).to(backbone.device)
    likely = _probabilities(model, given.expand(many + 1, -1), following.expand(many + 1, -1), shown)
    gains = (likely[1:] - likely[:1]).cpu().numpy().astype(np.float64)
    gains[:, following[0].cpu().numpy() < 0] = np.nan
    return gains


@torch.inference_mode()
def _probabilities(
    model: NuggetLanguageModel, given: Int[Tensor, "texts target"], following: Int[Tensor, "texts target"], read: Read
) -> Float[Tensor, "texts target"]:
    states = model.states(given, read)
    losses = model.predict.losses(states.flatten(0, 1), following.clamp(min=0).flatten())
    return torch.exp(-losses).view(following.shape)


class _Means:
    """Means by key, of values that come one at a time."""

    def __init__(self) -> None:
        self._sums: dict[Any, float] = {}
        self._counts: Counter[Any] = Counter()

    def add(self, key: object, value: float) -> None:
        self._sums[key] = self._sums.get(key, 0.0) + value
        self._counts[key] += 1

    def means(self) -> dict[Any, float]:
        return {key: total / self._counts[key] for key, total in self._sums.items()}


def _shares(counts: Mapping[int, int]) -> dict[int, float]:
    whole = sum(counts.values())
    return {key: count / whole for key, count in sorted(counts.items())}


def rows_of(chosen: list[Chosen]) -> Iterator[dict[str, Any]]:
    """As JSON."""
    return ({"token": one.token, "of_nuggets": one.of_nuggets, "of_text": one.of_text} for one in chosen)
