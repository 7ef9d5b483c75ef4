"""Any number of texts, each encoded alone: queries, sentences, n-grams."""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float32, Int32

from models.encoders.base import Encoder
from models.errors import InvalidInput
from models.ops.batching import length_batches
from models.ops.similarity import normalize
from models.text.tokens import Tokens
from models.types import QueryVectors


def encode_texts(encoder: Encoder, texts: Sequence[str]) -> QueryVectors:
    """Unit-length means of the token vectors of every text, in order.

    As ``models.encoders.base.encode_queries``, for more texts than one forward pass holds: texts of like length share
    a pass, and texts of the same tokens are encoded once. Memory is that of all vectors.

    >>> from models.encoders.hashing import HashingEncoder
    >>> vectors = encode_texts(HashingEncoder(dim=8), ["a b c", "a", "A"])
    >>> vectors.shape, bool((vectors[1] == vectors[2]).all())
    ((3, 8), True)
    """
    windows = [checked_window(encoder, tokens) for tokens in encoder.tokenize(texts)]
    keys = [ids.tobytes() for ids in windows]
    distinct = dict(zip(keys, windows, strict=True))
    numbers = {key: number for number, key in enumerate(distinct)}
    return _means(encoder, list(distinct.values()))[[numbers[key] for key in keys]]


def checked_window(encoder: Encoder, tokens: Tokens) -> Int32[np.ndarray, " tokens"]:
    """The ids of a text that one forward pass can read whole; ``InvalidInput`` for any other."""
    if not len(tokens.ids):
        raise InvalidInput("A text of the data holds no words.", hint="Leave its row out.", field="data")
    if len(tokens.ids) > encoder.window:
        raise InvalidInput(
            f"A text of the data has {len(tokens.ids)} tokens; a window holds {encoder.window}.",
            hint="These evaluations read texts of a sentence or two; longer ones go through the indexer's windows.",
            field="data",
        )
    return tokens.ids


def token_vectors(
    encoder: Encoder, windows: Sequence[Int32[np.ndarray, " _tokens"]]
) -> Iterator[tuple[int, Float32[np.ndarray, "_tokens dim"]]]:
    """Every window's number and its token vectors, the shortest windows first; those of like length share a pass."""
    lengths = [len(ids) for ids in windows]
    batches = list(length_batches(lengths, encoder.batch_tokens))
    outputs = encoder.forward([windows[number] for number in batch] for batch in batches)
    for batch, vectors in zip(batches, outputs, strict=True):
        yield from zip(batch, vectors, strict=True)


def _means(encoder: Encoder, windows: Sequence[Int32[np.ndarray, " _tokens"]]) -> QueryVectors:
    means = np.zeros((len(windows), encoder.dim), np.float32)
    for number, tokens in token_vectors(encoder, windows):
        means[number] = tokens.mean(axis=0)
    return normalize(means)
