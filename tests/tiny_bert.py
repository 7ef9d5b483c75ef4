"""A BERT small enough to be trained within a test, with random weights and the words of one paragraph."""

from functools import partial
from pathlib import Path

import pytest
import torch
from transformers import BartConfig, BartModel, BertConfig, BertModel, BertTokenizerFast, RobertaTokenizerFast

from research.training import slice as recipe
from research.training.slice import fit_projection

PROSE = "It was late, and nobody saw the cat. The door, which was green, stood open. A dog barked, and rain fell."


def save_tiny_bert(folder: Path, seed: int = 7) -> Path:
    words = sorted({word.strip(".,") for word in PROSE.lower().split()} | {"sat", "seen", "##s"})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ",", ".", ":", ";", '"', *words]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=128,
        initializer_range=0.5,
    )
    BertModel(config).save_pretrained(folder)
    return folder


def save_tiny_bart(folder: Path) -> Path:
    """An encoder-decoder whose encoder has two layers, and reads letters."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *sorted("ĠabcdefghijklmnopqrstuvwxyzITAN,.")]
    RobertaTokenizerFast(vocab={piece: n for n, piece in enumerate(pieces)}, merges=[]).save_pretrained(folder)
    torch.manual_seed(7)
    sizes = {
        f"{part}_{name}": size
        for part in ("encoder", "decoder")
        for name, size in [("layers", 2), ("attention_heads", 2), ("ffn_dim", 32)]
    }
    config = BartConfig(
        vocab_size=len(pieces),
        d_model=16,
        max_position_embeddings=256,
        init_std=0.5,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=2,
        **sizes,
    )
    BartModel(config).save_pretrained(folder)
    return folder


def fit_briefly(patch: pytest.MonkeyPatch) -> None:
    """Let a training end with a projection fitted in few steps to few spans: how good it is has a test of its own."""
    patch.setattr(recipe, "_FIT_DRAWS", 2)
    patch.setattr(recipe, "fit_projection", partial(fit_projection, steps=20))
