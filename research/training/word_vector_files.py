"""Files of word vectors, read and written; and the stop words that training leaves out."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Int32

from models.artifacts import save_artifact
from models.errors import InvalidInput
from models.ops.similarity import normalize
from models.types import JsonValue
from spanseek_facets.word_vectors import WORDS, WordVectors, load_word_vectors

_STOP_WORDS = (
    "a about above after again against all also am an and any are aren as at be because been before being below "
    "between both but by can cannot could couldn d did didn do does doesn doing don down during each few for from "
    "further had hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it "
    "its itself let ll m me more most mustn my myself no nor not of off on once only or other ought our ours ourselves "
    "out over own re s same shan she should shouldn so some such t than that the their theirs them themselves then "
    "there these they this those through to too under until up ve very was wasn we were weren what when where which "
    "while who whom why with won would wouldn you your yours yourself yourselves"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())


def stop_ids(words: WordVectors) -> Int32[np.ndarray, " stops"]:
    """The numbers of stop words."""
    return np.sort(words.ids(STOP_WORDS))


def read_word_vectors(path: Path) -> WordVectors:
    """Read word vectors: a folder of weights, or a text file of GloVe or word2vec."""
    return read_text_vectors(path) if path.is_file() else load_word_vectors(path)


def save_word_vectors(folder: Path, vectors: WordVectors, config: dict[str, JsonValue]) -> str:
    """Write word vectors as int8 weights and a list of words; returns the checksum."""
    import torch  # reading does without

    scales = np.abs(vectors.vectors).max(axis=1, keepdims=True) / 127
    codes = np.rint(vectors.vectors / np.where(scales > 0, scales, 1)).astype(np.int8)
    tensors = {"codes": torch.from_numpy(codes), "shares": torch.from_numpy(vectors.shares.astype(np.float32))}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / WORDS).write_text("\n".join(vectors.words) + "\n", "utf-8")
    return save_artifact(folder, tensors, config).sha256


def read_text_vectors(path: Path) -> WordVectors:
    """Read a text file with a word and its numbers on every line; a first line of two numbers (word2vec) is skipped.

    Such files do not hold frequencies: by Zipf's law, a word's share falls with its place. Words that differ in their
    capitals alone count once. A word may hold spaces, as some of GloVe's do. Raises ``InvalidInput`` for a line of
    another form.
    """
    words: dict[str, Float32[np.ndarray, " dim"]] = {}
    dim = 0
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            fields = line.rstrip().split(" ")
            if number == 1 and len(fields) == 2:
                continue
            dim = dim or len(fields) - 1
            word = " ".join(fields[:-dim]) if dim else ""
            if not word:
                raise _not_vectors(path, number)
            words.setdefault(word.lower(), _numbers(path, number, fields[-dim:]))
    if not words:
        raise _not_vectors(path, 1)
    shares = 1 / np.arange(1, len(words) + 1)
    with path.open("rb") as binary:
        sha256 = hashlib.file_digest(binary, "sha256").hexdigest()
    return WordVectors(tuple(words), normalize(np.stack(list(words.values()))), shares / shares.sum(), sha256)


def _numbers(path: Path, line: int, fields: Sequence[str]) -> Float32[np.ndarray, " dim"]:
    try:
        return np.array(fields, np.float32)
    except ValueError as error:
        raise _not_vectors(path, line) from error


def _not_vectors(path: Path, line: int) -> InvalidInput:
    return InvalidInput(
        f"{path.name} is no file of word vectors: see line {line}.",
        hint="Every line has a word and as many numbers as all others, with spaces between.",
        field="word_vectors",
    )
