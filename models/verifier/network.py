"""The cross-encoder, without torch: both texts of a pair in one window, through shared lower and own upper layers.

A pair's window is ``[CLS] phrase [SEP] text [SEP]``. The text is the clause that a search has found something in; its
tokens are of the second kind, and a trained vector marks those that were found. A linear layer reads the state of the
first token beside the mean of all (Nogueira & Cho 2019, "Passage re-ranking with BERT", has the form). What one pair
gives does not depend on others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float32, Int32

from models.artifacts import Artifact
from models.backbones.files import BackboneFiles
from models.backbones.query_network import BertConfig, Precision, QueryNetwork, in_parts
from models.kernels.llvm import has_byte_products
from models.text.borders import clause_around
from models.text.tokens import plain_tokens
from models.types import CharSpan
from models.verifier.types import OUTPUTS, Pair

# Tokens of a phrase and of a text that are read; of longer texts those around the mark.
PHRASE_TOKENS = 64
TEXT_TOKENS = 110
HEAD, MARK = "head.", "mark"


@dataclass(frozen=True, slots=True)
class Window:
    """The tokens of a phrase and of a text, and which of the text's are marked."""

    phrase: Int32[np.ndarray, " phrase"]
    text: Int32[np.ndarray, " text"]
    marked: Bool[np.ndarray, " text"]

    def __len__(self) -> int:
        return len(self.phrase) + len(self.text) + 3


class PairNetwork:
    """The forward pass over pairs: 13 logits each. Layers that the artifact does not hold are the backbone's."""

    def __init__(self, files: BackboneFiles, size: BertConfig, artifact: Artifact) -> None:
        parameters = files.stored  # an encoder may have put its own layers into a network in memory
        layers = {name: array for name, array in artifact.arrays.items() if name in parameters}
        self._files = files
        nothing = np.empty(0, np.int32)
        self._network = QueryNetwork(size, parameters | layers, (nothing, nothing), _precision(size))
        kinds = np.asarray(parameters["embeddings.token_type_embeddings.weight"], np.float32)
        self._second_kind = kinds[1] - kinds[0]
        self._mark = np.asarray(artifact.arrays[MARK], np.float32)
        self._weight = np.asarray(artifact.arrays[f"{HEAD}weight"], np.float32)
        self._bias = np.asarray(artifact.arrays[f"{HEAD}bias"], np.float32)

    def windows(self, pairs: Sequence[Pair]) -> list[Window]:
        """The tokens of every pair."""
        return windows_of(self._files, pairs)

    def __call__(self, windows: Sequence[Window]) -> list[Float32[np.ndarray, " outputs"]]:
        """The logits of every window: of the verdicts, then of the differences."""
        return in_parts(windows, self._logits)

    def _logits(self, windows: Sequence[Window]) -> list[Float32[np.ndarray, " outputs"]]:
        states = self._network.embed([self._row(window) for window in windows], self._added(windows))
        self._network.take_through(states, self._network.layers)
        rows = (states.hidden[start:end] for start, end in pairwise(states.bounds.tolist()))
        read = (np.concatenate([row[0], row.mean(axis=0)]) for row in rows)
        return [self._weight @ features + self._bias for features in read]

    def _row(self, window: Window) -> Int32[np.ndarray, " row"]:
        begin, end = self._files.tokenizer.prefix, self._files.tokenizer.suffix
        return np.concatenate([begin, window.phrase, end, window.text, end])

    def _added(self, windows: Sequence[Window]) -> Float32[np.ndarray, "tokens dim"]:
        """The additions to the embeddings: the second kind of token for the text, and the mark."""
        added = np.zeros((sum(map(len, windows)), len(self._mark)), np.float32)
        end = 0
        for window in windows:
            end += len(window)
            text = slice(end - len(window.text) - 1, end)
            added[text] += self._second_kind
            added[text][: len(window.text)][window.marked] += self._mark
        return added


def _precision(size: BertConfig) -> Precision:
    """Whole numbers where the processor multiplies these: log odds move by .04, and it takes half the time."""
    return "int8" if has_byte_products() and size.dim % 4 == size.wide % 4 == 0 else "float32"


def windows_of(files: BackboneFiles, pairs: Sequence[Pair]) -> list[Window]:
    """The tokens of every pair: of the phrase, and of the clause around what is marked, or of a whole text without."""
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.phrase, pair.text)))
    tokens = dict(zip(texts, plain_tokens(files.tokenize, texts), strict=True))
    windows = []
    for pair in pairs:
        ids, spans, marked = tokens[pair.text].ids, tokens[pair.text].spans, np.zeros(len(tokens[pair.text]), bool)
        if pair.mark is not None:
            marked = _within(spans, pair.mark)
            read = _within(spans, clause_around(pair.text, pair.mark))
            ids, marked = ids[read], marked[read]
        shown = _around(marked)
        windows.append(Window(tokens[pair.phrase].ids[:PHRASE_TOKENS], ids[shown], marked[shown]))
    return windows


def _within(spans: Int32[np.ndarray, "tokens 2"], part: CharSpan) -> Bool[np.ndarray, " tokens"]:
    return (spans[:, 0] < part.end) & (spans[:, 1] > part.start)


def _around(marked: Bool[np.ndarray, " tokens"]) -> slice:
    """The tokens that are read: all, or as many as a window has room for, with the marked ones in the middle.

    >>> _around(np.arange(300) == 200)
    slice(146, 256, None)
    """
    if len(marked) <= TEXT_TOKENS:
        return slice(0, len(marked))
    places = np.flatnonzero(marked)
    middle = int(places[len(places) // 2]) if len(places) else 0
    start = min(max(0, middle - TEXT_TOKENS // 2 + 1), len(marked) - TEXT_TOKENS)
    return slice(start, start + TEXT_TOKENS)


def check_head(artifact: Artifact) -> bool:
    """True if the artifact has the outputs that this version reads."""
    weight = artifact.arrays.get(f"{HEAD}weight")
    return weight is not None and weight.shape[0] == OUTPUTS
