"""The projection fitted to texts: nuggets then extend evenly, whatever it was before, and nothing else changes."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from models.artifacts import Artifact, load_artifact, save_artifact
from models.backbones.torch_network import load_backbone
from models.encoders.nuggets.parts import foundation
from models.encoders.nuggets.slice import SliceNuggetEncoder
from models.encoders.slice import SliceEncoder
from models.errors import InvalidInput
from models.ops.whitening import Whitening, second_moment
from research.training.nugget_initialization import RATIOS
from research.training.nugget_whitening import WhiteningTexts, whiten
from tests.tiny_bert import PROSE

EVENLY = Whitening(floor=1e-6)


@pytest.fixture
def base(backbone: Path) -> SliceEncoder:
    return SliceEncoder(load_backbone(str(backbone), device="cpu"))


@pytest.fixture
def made(base: SliceEncoder, tmp_path: Path) -> Artifact:
    """Weights as a training would have left them, with a projection of no use."""
    facts = {"layer": 1, "gather": "segment", "foundation_sha256": foundation(base.backbone, 1), "seed": 7}
    network = SliceNuggetEncoder(base, layer=1).network
    tensors = {name: parameter.detach().half() for name, parameter in network.named_parameters()}
    return save_artifact(tmp_path / "made", tensors | {"value.weight": torch.zeros(base.dim, base.dim).half()}, facts)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Sentences in two orders, as many as there are ratios times the size of a batch."""
    words, rng = PROSE.split(), np.random.default_rng(13)
    rows = [{"text": " ".join(rng.permutation(words)[:40])} for _ in range(80)]
    path = tmp_path / "own.ndjson"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


def test_nuggets_extend_evenly_afterwards(base: SliceEncoder, made: Artifact, own: Path, tmp_path: Path) -> None:
    texts, told = WhiteningTexts(own=own), list[tuple[int, int]]()
    given = SliceNuggetEncoder(base, made)
    whiten(given, made, texts, EVENLY, tmp_path / "out", lambda done, of: told.append((done, of)))
    assert told == [(done, 5) for done in range(1, 6)]
    spread = load_artifact(tmp_path / "out").tensors["value.weight"].float().numpy()
    torch.nn.init.eye_(given.network.value.weight)
    batches = [texts.read()["own"][begin : begin + 16] for begin in range(0, 80, 16)]
    moments = []
    for batch, ratio in zip(batches, RATIOS, strict=True):
        (read,) = given.forward([[tokens.ids for tokens in base.tokenize(batch)]], ratio)
        moments.append(second_moment(np.concatenate([nuggets.vectors for _, nuggets in read])))
    moment = np.mean(moments, axis=0)
    before, after = map(np.linalg.eigvalsh, (moment, spread @ moment @ spread))
    # The least directions, less than 16 bits can tell from nothing, are left out.
    assert before[-1] / before[5] > 10
    assert after[-1] / after[5] < 1.5


def test_nothing_but_the_projection_changes(base: SliceEncoder, made: Artifact, own: Path, tmp_path: Path) -> None:
    found = whiten(SliceNuggetEncoder(base, made), made, WhiteningTexts(own=own), EVENLY, tmp_path / "out")
    assert not [
        name for name, kept in found.tensors.items() if (kept == made.tensors[name]).all() == (name == "value.weight")
    ]
    assert found.config == made.config | {
        "whitened": made.sha256,
        "whitening": {
            "data": None, "exclude": None, "own": "own.ndjson", "documents": 3000, "seed": 13, "exponent": 1.0,
            "floor": 1e-6,
        },
    }  # fmt: skip


def test_an_exponent_of_zero_leaves_nuggets_as_they_are(
    base: SliceEncoder, made: Artifact, own: Path, tmp_path: Path
) -> None:
    whole, half, none = (
        whiten(SliceNuggetEncoder(base, made), made, WhiteningTexts(own=own), Whitening(exponent), tmp_path / "out")
        .tensors["value.weight"]
        .float()
        for exponent in (1.0, 0.5, 0.0)
    )
    torch.testing.assert_close(none, torch.eye(len(none)), atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(half @ half, whole, atol=0.02, rtol=0.02)


def test_no_more_texts_are_read_than_asked_for(own: Path) -> None:
    assert len(WhiteningTexts(own=own, documents=7).read()["own"]) == 7


def test_texts_must_be_named() -> None:
    with pytest.raises(InvalidInput, match="nothing to fit") as refused:
        WhiteningTexts().read()
    assert refused.value.field == "texts"
