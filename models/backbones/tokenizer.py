"""A backbone's tokenizer: texts to tokens, without truncation, every character read as text.

``open_tokenizer`` needs ``tokenizer.json`` and the tokenizers package alone. What transformers would read in another
way is left to it (``models.backbones.transformers_network``).
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Int32
from tokenizers import Regex, Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer, Split
from tokenizers.pre_tokenizers import Sequence as PreTokenizers

from models.interruption import checked
from models.text import units
from models.text.tokens import Tokens, concatenate

Backend: TypeAlias = Any  # the tokenizers package has no type stubs

# Code points after which a long text is cut, at white space if there is any, before it is tokenized.
_PIECE = 65_536
_BERT = {"BertTokenizer", "BertTokenizerFast"}


class TextTokenizer:
    """Texts to ids with character spans.

    ``unknown`` is the id of the token that stands for what the vocabulary lacks, ``padding`` the id of the filler of
    batches; ``prefix`` and ``suffix`` are the special tokens around a text.
    """

    def __init__(self, backend: Backend, unknown: int | None, padding: int) -> None:
        self._backend = _plain(backend)
        self.unknown, self.padding = unknown, padding
        self.prefix, self.suffix = _special_tokens(backend)

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokens of every text, without special tokens and without truncation."""
        short = all(len(text) <= _PIECE for text in texts)
        return self._tokenize(texts) if short else [self._tokenize_long(text) for text in texts]

    def _tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        encodings = self._backend.encode_batch(list(texts), add_special_tokens=False)
        return [self._tokens(encoding.ids, encoding.offsets) for encoding in encodings]

    def _tokens(self, ids: list[int], offsets: list[tuple[int, int]]) -> Tokens:
        codes = np.array(ids, np.int32)
        return Tokens(codes, np.array(offsets, np.int64).reshape(-1, 2), codes == self.unknown)

    def _tokenize_long(self, text: str) -> Tokens:
        """As for a short text, piece by piece: the tokenizer's own records take 100 times the room of ours."""
        pieces = ((start, self._tokenize([text[start:end]])[0]) for start, end in checked(_pieces(text)))
        return concatenate([replace(piece, spans=piece.spans + start) for start, piece in pieces])

    def ids_of(self, tokens: Sequence[str]) -> Int32[np.ndarray, " found"]:
        """The ids of the given tokens that the vocabulary has."""
        ids = (self._backend.token_to_id(token) for token in tokens)
        return np.array([found for found in ids if found is not None], np.int32)

    def token(self, number: int) -> str:
        """The token of an id."""
        return str(self._backend.id_to_token(number))

    def description(self) -> str:
        """Everything that decides what tokens a text has."""
        return str(self._backend.to_str())


def open_tokenizer(folder: Path) -> TextTokenizer | None:
    """The WordPiece tokenizer of a folder, None where its files leave open what transformers would make of them."""
    try:
        backend = Tokenizer.from_file(str(folder / "tokenizer.json"))
        settings: dict[str, Any] = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
    except Exception:  # noqa: BLE001  the package raises nothing more special; transformers will say what is wrong
        return None
    if not _agree(backend, settings):
        return None
    padding = backend.token_to_id(settings["pad_token"])
    return TextTokenizer(backend, backend.token_to_id(settings["unk_token"]), padding or 0)


def _agree(backend: Backend, settings: dict[str, Any]) -> bool:
    """True if both files of a BERT's tokenizer agree, so that either may be read."""
    normalizer = backend.normalizer
    return (
        isinstance(backend.model, WordPiece)
        and isinstance(normalizer, BertNormalizer)
        and settings.get("tokenizer_class") in _BERT
        and settings.get("unk_token") == backend.model.unk_token
        and isinstance(settings.get("pad_token"), str)
        and settings.get("do_lower_case", True) is normalizer.lowercase
        and settings.get("strip_accents") is normalizer.strip_accents
        and settings.get("tokenize_chinese_chars", True) is normalizer.handle_chinese_chars
    )


def _plain(backend: Backend) -> Backend:
    """The tokenizer, set to read all characters of a text as text, special tokens too, without truncation or padding.

    Words too long for WordPiece are cut where the splitter cuts them and symbols (emoji above all) are set apart
    from the words they touch, because both would else turn whole words into the unknown token.
    """
    backend.no_truncation()
    backend.no_padding()
    backend.encode_special_tokens = True
    if isinstance(backend.pre_tokenizer, BertPreTokenizer):
        apart = Split(Regex(rf"\w{{{units.MAX_LENGTH}}}|\p{{So}}"), "isolated")
        backend.pre_tokenizer = PreTokenizers([apart, BertPreTokenizer()])
    return backend


def _special_tokens(backend: Backend) -> tuple[Int32[np.ndarray, " prefix"], Int32[np.ndarray, " suffix"]]:
    """The special tokens that stand before and after a text."""
    bare = backend.encode("a", add_special_tokens=False).ids
    full = backend.encode("a").ids
    begin = full.index(bare[0])
    return np.array(full[:begin], np.int32), np.array(full[begin + len(bare) :], np.int32)


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(text):
        end = min(start + _PIECE, len(text))
        if end < len(text):
            space = max(text.rfind(sign, start, end) for sign in " \n\t")
            end = space + 1 if space > start else end
        yield start, end
        start = end
