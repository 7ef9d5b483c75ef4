"""The projection of trained nuggets, fitted to texts alone: known ones as varied as they allow, one's own, or both.

Nuggets of one's own texts, whitened by these, tell them apart better than any projection that others were fitted to; it
takes a pass over some thousand texts, and no labels.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float32, Float64, Int32

from models.artifacts import Artifact, save_artifact
from models.encoders.nuggets.slice import SliceNuggetEncoder
from models.errors import InvalidInput
from models.ops.batching import even_windows
from models.ops.whitening import Whitening, second_moment, whitening
from research.training.nugget_data import LONGEST, NuggetTexts, read_nugget_texts
from research.training.nugget_initialization import RATIOS
from research.training.own_texts import read_own_texts
from research.training.rewrites import set_apart
from research.training.sources import read_excluded, sentences

_BATCH = 16


@dataclass(frozen=True, slots=True)
class WhiteningTexts:
    """Texts to fit to: a folder of known sets, less sentences of ``exclude``; texts of one's own; so many of either."""

    data: Path | None = None
    exclude: Path | None = None
    own: Path | None = None
    documents: int = 3_000
    seed: int = 13

    def read(self) -> dict[str, list[str]]:
        """The texts by where they are from. Raises ``InvalidInput`` where nothing is named."""
        texts = {}
        if self.data:
            sets = read_nugget_texts(self.data, read_excluded(self.exclude))
            texts["known"] = draw_mixed_documents(sets, self.documents, self.seed)
        if self.own:
            texts["own"] = read_own_texts(self.own, self.seed, self.documents)
        if not any(texts.values()):
            raise InvalidInput(
                "There is nothing to fit the projection to.",
                hint="Name your own texts (--texts), or the folder of the known sets (--data).",
                field="texts",
            )
        return texts


def whiten(
    nuggets: SliceNuggetEncoder,
    made: Artifact,
    texts: WhiteningTexts,
    how: Whitening,
    out: Path,
    after_batch: Callable[[int, int], None] = lambda done, of: None,
) -> Artifact:
    """Fit the projection of trained nuggets, ``made`` of which they are loaded, and save all of them in ``out``.

    The previous projection is ignored. Every source of texts has the same weight, whatever its size, and so has every
    ratio. ``after_batch`` receives the number of batches read, and their total.
    """
    windows = {name: _windows(nuggets, documents) for name, documents in texts.read().items()}
    of = sum(-(-len(documents) // _BATCH) for documents in windows.values())
    done = count(1)
    with torch.no_grad():
        torch.nn.init.eye_(nuggets.network.value.weight)
        moments = [_moment(nuggets, documents, lambda: after_batch(next(done), of)) for documents in windows.values()]
        spread = torch.from_numpy(whitening(np.mean(moments, axis=0), how))
        nuggets.network.value.weight.copy_(spread)
    fitted = {**made.tensors, "value.weight": spread.to(torch.float16)}
    facts = {name: str(path.name) if isinstance(path, Path) else path for name, path in asdict(texts).items()}
    return save_artifact(out, fitted, made.config | {"whitening": facts | asdict(how), "whitened": made.sha256})


def _windows(nuggets: SliceNuggetEncoder, texts: Sequence[str]) -> list[Int32[np.ndarray, " _tokens"]]:
    base = nuggets.base
    return [
        window for tokens in base.tokenize(texts) for window in even_windows(tokens.ids, base.window) if len(window)
    ]


def _moment(
    nuggets: SliceNuggetEncoder, windows: Sequence[Int32[np.ndarray, " _tokens"]], after_batch: Callable[[], None]
) -> Float64[np.ndarray, "dim dim"]:
    """The mean second moment over ratios, which take turns from batch to batch."""
    vectors_by_ratio: dict[float, list[Float32[np.ndarray, "_nuggets dim"]]] = {}
    for number, begin in enumerate(range(0, len(windows), _BATCH)):
        ratio = RATIOS[number % len(RATIOS)]
        (read,) = nuggets.forward([windows[begin : begin + _BATCH]], ratio)
        vectors_by_ratio.setdefault(ratio, []).extend(nugget.vectors for _, nugget in read)
        after_batch()
    return np.mean([second_moment(np.concatenate(vectors)) for vectors in vectors_by_ratio.values()], axis=0)


_PAIRS = "pairs"  # the kind of what is there as pairs of sentences
_FEWEST, _MOST = 100, 300  # words of a document


def draw_mixed_documents(texts: NuggetTexts, documents: int, seed: int) -> list[str]:
    """So many documents of 100 to 300 words, the same for the same seed; none where there are no texts.

    >>> texts = NuggetTexts({"songs": ["La la la. Lo lo."]}, [("It rains.", "Rain falls.")], {})
    >>> [len(text.split()) >= 100 for text in draw_mixed_documents(texts, 3, seed=1)]
    [True, True, True]
    """
    kinds = _kinds(texts)
    return [_document(texts, kinds, number, seed) for number in range(documents)] if kinds else []


def _kinds(texts: NuggetTexts) -> list[str]:
    return sorted(name for name, items in {**texts.prose, _PAIRS: texts.pairs}.items() if items)


def _document(texts: NuggetTexts, kinds: Sequence[str], number: int, seed: int) -> str:
    rng = random.Random(f"varied/{seed}/{number}")  # noqa: S311  sampling, not secrets
    source = _run(texts, kinds[number // 4 % len(kinds)], rng) if number % 2 else _unrelated(texts, kinds, rng)
    words, held = rng.randint(_FEWEST, _MOST), list[str]()
    while len(held) < words:
        held += next(source).split()[:LONGEST]
    style = set_apart if number // 2 % 2 else str
    return style(" ".join(held))


def _run(texts: NuggetTexts, kind: str, rng: random.Random) -> Iterator[str]:
    """Sentences of one kind in their order, from some place on; pairs have no order."""
    while kind == _PAIRS:
        yield rng.choice(rng.choice(texts.pairs))
    at = rng.randrange(len(texts.prose[kind]))
    while True:
        yield from sentences(texts.prose[kind][at % len(texts.prose[kind])])
        at += 1


def _unrelated(texts: NuggetTexts, kinds: Sequence[str], rng: random.Random) -> Iterator[str]:
    while True:
        kind = rng.choice(kinds)
        yield rng.choice(rng.choice(texts.pairs) if kind == _PAIRS else sentences(rng.choice(texts.prose[kind])))
