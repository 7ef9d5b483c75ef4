"""The subword vocabulary of a restorable network: byte-level BPE, so that every text can be restored exactly."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float, Int32
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from tokenizers.decoders import DecodeStream

from models.encoders.restorable.base import RestoredToken
from models.errors import BackboneMissing

FILE = "tokenizer.json"

# Marks of the end and the beginning of a text; the tokens of the backend follow them.
END, BEGIN = 0, 1
_MARKS = 2

Backend: TypeAlias = Any  # the tokenizers package has no type stubs
Ids: TypeAlias = Int32[np.ndarray, " _tokens"]


class Vocabulary:
    """Texts to numbers of tokens, and back. Digits are tokens of their own, which numbers are restored better by."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @classmethod
    def learn(cls, texts: Iterable[str], size: int) -> "Vocabulary":
        """The vocabulary of ``size`` tokens, marks included, that writes these texts shortest.

        >>> vocabulary = Vocabulary.learn(["a cat", "a hat"], 262)
        >>> vocabulary.text(vocabulary.ids(["a cat: 17 €"])[0])
        'a cat: 17 €'
        """
        backend = Tokenizer(models.BPE())
        backend.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )
        backend.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=size - _MARKS, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
        )
        backend.train_from_iterator(texts, trainer)
        return cls(backend)

    @classmethod
    def load(cls, folder: Path) -> "Vocabulary":
        """The vocabulary of a folder. Raises ``BackboneMissing`` without one."""
        path = folder / FILE
        if not path.is_file():
            raise BackboneMissing(f"There is no vocabulary in {folder}.", hint=f"The folder must hold {FILE}.")
        return cls(Tokenizer.from_file(str(path)))

    def save(self, folder: Path) -> None:
        """Write the vocabulary into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FILE).write_text(self.description(), "utf-8")

    @property
    def size(self) -> int:
        """The number of tokens, marks included."""
        return int(self._backend.get_vocab_size()) + _MARKS

    def description(self) -> str:
        """Everything that decides what tokens a text has."""
        return str(self._backend.to_str())

    def ids(self, texts: Sequence[str]) -> list[Ids]:
        """The tokens of every text, with the end mark; nothing is truncated."""
        encodings = self._backend.encode_batch(list(texts), add_special_tokens=False)
        return [np.array([*(code + _MARKS for code in each.ids), END], np.int32) for each in encodings]

    def text(self, ids: Ids) -> str:
        """The text of tokens."""
        return "".join(token.text for token in self.tokens(ids, np.ones(len(ids))))

    def tokens(self, ids: Ids, confidences: Float[np.ndarray, " _tokens"]) -> tuple[RestoredToken, ...]:
        """Tokens as text; those that share a character are joined, and the least certain counts.

        The end mark is a last token without text, whose confidence says how certain it is that nothing is missing.
        """
        return tuple(self._tokens(ids, confidences))

    def _tokens(self, ids: Ids, confidences: Float[np.ndarray, " _tokens"]) -> Iterator[RestoredToken]:
        stream, lowest = DecodeStream(skip_special_tokens=False), 1.0
        for number, confidence in zip(ids.tolist(), confidences.tolist(), strict=True):
            lowest = min(lowest, confidence)
            if number == END:
                yield RestoredToken("", lowest)
                return
            piece = stream.step(self._backend, number - _MARKS) if number >= _MARKS else None
            if piece is not None:
                yield RestoredToken(piece, lowest)
                lowest = 1.0
