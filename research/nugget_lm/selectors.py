"""Selectors of nuggets by name: the scorer, and the rules of section 7.1, which are its baselines."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Int

from models.artifacts import SHIPPED, load_artifact
from models.backbones.files import BackboneFiles
from models.encoders.nuggets.base import NuggetEncoder
from models.encoders.nuggets.parts import spacing_of
from models.encoders.nuggets.selectors import LEARNED, Choose, Selectors
from models.encoders.nuggets.slice import SliceNuggetEncoder
from models.encoders.registry import EncoderOptions, load_encoder, load_nuggets
from models.encoders.slice import SliceEncoder
from models.errors import InvalidInput
from models.ops.nuggets import count

PUNCTUATION = (",", ".", ";", ":", "!", "?")
STOPS = (".", "!", "?")


def named(name: str, backbone: BackboneFiles, spacing: float = 0.0) -> Selectors:
    """``learned``, ``chunk`` or ``sentence_boundary``; the last one ignores the ratio. ``spacing`` is of the first.

    Raises ``InvalidInput`` for another name.
    """
    if name == LEARNED:
        return Selectors.learned(spacing)
    if name not in _RULES:
        names = ", ".join((LEARNED, *_RULES))
        raise InvalidInput(f"There is no selector {name!r}.", hint=f"Selectors are: {names}.", field="selector")
    return Selectors(_RULES[name](backbone), name)


def load_nuggets_by(selector: str | None, name: str, options: EncoderOptions) -> NuggetEncoder:
    """The nuggets of an encoder, chosen by this selector, else by the one that the weights were trained with."""
    base = load_encoder(name, options)
    if not isinstance(base, SliceEncoder):
        return load_nuggets(name, options, base=base)
    artifact = load_artifact(options.nugget_weights or SHIPPED / "nugget")
    chosen = selector or str(artifact.config.get("selector", LEARNED))
    if selector is None and chosen == LEARNED:
        return load_nuggets(name, options, base=base)
    return SliceNuggetEncoder(base, artifact, selectors=named(chosen, base.files, spacing_of(artifact)))


def _chunk(backbone: BackboneFiles) -> Choose:
    marks = backbone.ids_of(PUNCTUATION)
    return lambda window, _, ratio: chunk_ends(np.isin(window, marks), count(len(window), ratio))


def _sentence_boundary(backbone: BackboneFiles) -> Choose:
    marks = backbone.ids_of(STOPS)
    return lambda window, scores, ratio: sentence_ends(np.isin(window, marks))


_RULES: dict[str, Callable[[BackboneFiles], Choose]] = {"chunk": _chunk, "sentence_boundary": _sentence_boundary}


def chunk_ends(punctuation: Bool[np.ndarray, " tokens"], number: int) -> Int[np.ndarray, " nuggets"]:
    """The rule-based selector of section 7.1: the last punctuation mark of each of ``number`` equal chunks.

    From a chunk without punctuation it selects the last token.

    >>> chunk_ends(np.array([False, True, True, False, False, False]), 2).tolist()
    [2, 5]
    """
    bounds = chunk_bounds(len(punctuation), number)
    ends = [_last(punctuation[start:end]) + start for start, end in bounds]
    return np.array(ends, np.int64)


def chunk_bounds(tokens: int, number: int) -> Int[np.ndarray, "chunks 2"]:
    """Half-open ranges of ``number`` chunks of equal length, or one token more.

    >>> chunk_bounds(5, 2).tolist()
    [[0, 2], [2, 5]]
    """
    edges = np.arange(number + 1) * tokens // max(1, number)
    return np.stack([edges[:-1], edges[1:]], axis=1)


def sentence_ends(stops: Bool[np.ndarray, " tokens"]) -> Int[np.ndarray, " nuggets"]:
    """The other rule-based selector: the last token of every sentence, regardless of the ratio.

    Of consecutive stops the last one counts; tokens after the last stop are a sentence, too.

    >>> sentence_ends(np.array([False, True, True, False, True, False])).tolist()
    [2, 4, 5]
    """
    following = np.append(stops[1:], False)
    ends = stops & ~following
    ends[-1:] = True
    return np.flatnonzero(ends)


def _last(marks: Bool[np.ndarray, " tokens"]) -> int:
    positions = np.flatnonzero(marks)
    return int(positions[-1]) if len(positions) else len(marks) - 1
