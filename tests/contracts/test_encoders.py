"""One suite for every encoder: a name in the registry enrols it."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertModel, BertTokenizerFast

from indexer.indexing.encode import encode, split
from models.artifacts import load_artifact, save_artifact
from models.backbones.packages import PACKAGES
from models.backbones.torch_network import load_backbone
from models.encoders.base import Encoder, check_query, encode_queries, tokenize_units
from models.encoders.registry import ENCODERS, EncoderOptions, load_encoder
from models.encoders.slice import PROJECTION, SliceEncoder
from models.errors import BackboneMismatch, BackboneMissing, InvalidInput, SpanseekError, UnknownEncoder
from models.ops.batching import length_batches
from models.text import units
from models.types import Document, Part

LETTERS = "abcdefghijklmnopqrstuvwxyz"
VOCABULARY = [
    *["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{letter}" for letter in LETTERS)],
    *["the", "cat", "sat", "##s", "##ing", "mat", *"0123456789", *".,!?'[]-", "sep", "中", "é"],
]
TEXTS = [
    "The cat sat on the mat.",
    "cats",
    "a much longer text, which makes the others need padding: the cat sat, and sat, and sat on the mat!",
    "",
    "中 é [SEP] 😀",
]


def tiny_bert(folder: Path, seed: int = 1, heads: int = 2) -> Path:
    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY), "utf-8")
    BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=heads,
        intermediate_size=32,
        max_position_embeddings=96,
    )
    torch.manual_seed(seed)
    BertModel(config).save_pretrained(folder, safe_serialization=True)
    return folder


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def artifact_for(backbone: Path, folder: Path, seed: int = 3) -> Path:
    tensors = load_file(backbone / "model.safetensors")
    name = "encoder.layer.1.output.dense.weight"
    torch.manual_seed(seed)
    changed = {name: tensors[name] + torch.randn_like(tensors[name]), PROJECTION: torch.randn(16, 4)}
    save_artifact(folder, changed, {"backbone_sha256": sha256(backbone / "model.safetensors")})
    return folder


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("backbone") / "tiny")


@pytest.fixture(scope="module")
def options(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> EncoderOptions:
    weights = artifact_for(bert, tmp_path_factory.mktemp("weights") / "slice")
    return EncoderOptions(str(bert), weights, "cpu")


@pytest.fixture(scope="module", params=sorted(ENCODERS))
def encoder(request: pytest.FixtureRequest, options: EncoderOptions) -> Encoder:
    return load_encoder(request.param, options)


def ids(encoder: Encoder, texts: list[str]) -> list[np.ndarray]:
    return [tokens.ids for tokens in encoder.tokenize(texts)]


def token_vectors(encoder: Encoder, batches: list[list[np.ndarray]]) -> list[np.ndarray]:
    return [vectors for batch in encoder.forward(batches) for vectors in batch]


def test_one_vector_a_token(encoder: Encoder) -> None:
    windows = ids(encoder, TEXTS)
    (batch,) = encoder.forward([windows])
    assert [vectors.shape for vectors in batch] == [(len(window), encoder.dim) for window in windows]
    assert all(vectors.dtype == np.float32 and np.isfinite(vectors).all() for vectors in batch)


def test_tokens_lie_in_the_text_and_in_order(encoder: Encoder) -> None:
    for text, tokens in zip(TEXTS, encoder.tokenize(TEXTS), strict=True):
        assert tokens.spans.shape == (len(tokens.ids), 2)
        assert (tokens.spans >= 0).all()
        assert (tokens.spans <= len(text)).all()
        assert (np.diff(tokens.spans[:, 0]) >= 0).all()
        assert (tokens.spans[:, 1] > tokens.spans[:, 0]).all()


def test_deterministic(encoder: Encoder) -> None:
    windows = ids(encoder, TEXTS)
    for one, other in zip(token_vectors(encoder, [windows]), token_vectors(encoder, [windows]), strict=True):
        np.testing.assert_array_equal(one, other)


def test_batched_equals_one_by_one(encoder: Encoder) -> None:
    windows = [window for window in ids(encoder, TEXTS) if len(window)]
    together = token_vectors(encoder, [windows])
    alone = token_vectors(encoder, [[window] for window in windows])
    backwards = token_vectors(encoder, [windows[::-1]])[::-1]
    for one, other, third in zip(together, alone, backwards, strict=True):
        np.testing.assert_allclose(one, other, atol=tolerance())
        np.testing.assert_allclose(one, third, atol=tolerance())


def tolerance() -> float:
    capabilities = torch.cpu.get_capabilities()
    return 0.06 if capabilities.get("avx512_bf16") or capabilities.get("amx_bf16") else 1e-5


def test_padding_is_never_seen(encoder: Encoder) -> None:
    short, long = ids(encoder, ["cats", TEXTS[2]])
    padded = token_vectors(encoder, [[short, long[: encoder.window]]])[0]
    np.testing.assert_allclose(padded, token_vectors(encoder, [[short]])[0], atol=tolerance())


@pytest.mark.ci("loads the shipped models")
def test_a_query_is_read_as_a_window_is(encoder: Encoder) -> None:
    windows = ids(encoder, [TEXTS[0], TEXTS[1], TEXTS[3]])
    for query, vectors in zip(encoder.forward_query(windows), token_vectors(encoder, [windows]), strict=True):
        assert query.dtype == np.float32
        np.testing.assert_allclose(query, vectors, atol=tolerance())


def test_no_batches_no_vectors(encoder: Encoder) -> None:
    assert list(encoder.forward([])) == []
    assert encoder.tokenize([]) == []
    assert encode_queries(encoder, []).shape == (0, encoder.dim)


def test_empty_text(encoder: Encoder) -> None:
    for text in ("", " \n\t", "\r\n\u00a0"):
        (joined,) = tokenize_units(encoder, [text])
        assert len(joined) == 0
        with pytest.raises(InvalidInput) as caught:
            encode_queries(encoder, [text])
        assert caught.value.field == "text"
        assert caught.value.hint


def test_queries_have_length_one_and_are_means(encoder: Encoder) -> None:
    queries = encode_queries(encoder, ["the cat", "sat on the mat"])
    np.testing.assert_allclose(np.linalg.norm(queries, axis=1), 1, atol=1e-6)
    (vectors,) = token_vectors(encoder, [ids(encoder, ["the cat"])])
    mean = vectors.mean(axis=0) / np.linalg.norm(vectors.mean(axis=0))
    np.testing.assert_allclose(queries[0], mean, atol=tolerance())
    assert queries.dtype == np.float32


def test_over_long_query_is_refused(encoder: Encoder) -> None:
    fits, over = "cat " * encoder.window, "cat " * (encoder.window + 1)
    check_query(encoder, fits)
    for refuse in (lambda: encode_queries(encoder, ["cat", over]), lambda: check_query(encoder, over)):
        with pytest.raises(InvalidInput) as caught:
            refuse()
        assert caught.value.field == "text"


def test_over_long_text_is_read_in_windows(encoder: Encoder) -> None:
    """Every unit gets one vector, the same whatever the batches; the first window is read as it would be alone."""
    text = "the cat sat, and sat. " * 40
    documents = [Document("a", (Part(text), Part(""), Part("cats"))), Document("b", ()), Document("c", (Part(text),))]
    parts = list(split(encoder, [(document, "") for document in documents]))
    whole = np.concatenate([pool.vectors for pool in encode(encoder, parts, 4096)])
    pieces = np.concatenate([pool.vectors for pool in encode(encoder, iter(parts), encoder.window)])
    count = len(units.split(text))
    assert whole.shape == (2 * count + len(units.split("cats")), encoder.dim)
    np.testing.assert_allclose(whole, pieces, atol=10 * tolerance())
    np.testing.assert_allclose(whole[:count], whole[-count:], atol=10 * tolerance())
    assert np.linalg.norm(whole, axis=1).min() > 0


def test_a_word_of_100_000_letters(encoder: Encoder) -> None:
    (joined,) = tokenize_units(encoder, ["a" * 100_000])
    assert joined.spans[0, 0] == 0
    assert joined.spans[-1, 1] == 100_000
    assert int((joined.last - joined.first).max()) <= units.MAX_LENGTH
    assert not joined.unknown.any()


def test_loading_again_gives_the_same(
    encoder: Encoder, options: EncoderOptions, request: pytest.FixtureRequest
) -> None:
    name = request.node.callspec.params["encoder"]
    again = load_encoder(name, options)
    assert again.fingerprint == encoder.fingerprint
    np.testing.assert_array_equal(encode_queries(again, ["the cat"]), encode_queries(encoder, ["the cat"]))


def test_batches_hold_what_they_may(encoder: Encoder) -> None:
    lengths = sorted(np.random.default_rng(1).integers(1, encoder.window, 50).tolist())
    batches = list(length_batches(lengths, encoder.window))
    assert [number for batch in batches for number in batch] == list(range(50))
    assert all(len(batch) * max(lengths[n] for n in batch) <= encoder.window for batch in batches)


def test_fingerprints_differ(options: EncoderOptions, bert: Path, tmp_path: Path) -> None:
    other = tiny_bert(tmp_path / "other", seed=2)
    fingerprints = [
        load_encoder("untrained", options).fingerprint,
        load_encoder("slice", options).fingerprint,
        load_encoder("hashing", options).fingerprint,
        SliceEncoder(load_backbone(str(bert), device="cpu", window=32)).fingerprint,
        SliceEncoder(load_backbone(str(other), device="cpu")).fingerprint,
        SliceEncoder(
            load_backbone(str(bert), device="cpu"), load_artifact(artifact_for(bert, tmp_path / "w", seed=4))
        ).fingerprint,
    ]
    assert len(set(fingerprints)) == len(fingerprints)


@pytest.fixture
def copied(bert: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(bert, tmp_path / "copy"))


def test_fingerprint_changes_with_architecture_and_vocabulary(bert: Path, copied: Path) -> None:
    """Four heads instead of two: equal weights, other vectors."""
    first = load_backbone(str(bert), device="cpu").fingerprint
    assert load_backbone(str(copied), device="cpu").fingerprint == first
    config = json.loads((copied / "config.json").read_text())
    (copied / "config.json").write_text(json.dumps(config | {"num_attention_heads": 4}))
    other = load_backbone(str(copied), device="cpu")
    assert other.fingerprint != first
    (copied / "config.json").write_text(json.dumps(config | {"transformers_version": "0"}))
    assert load_backbone(str(copied), device="cpu").fingerprint == first


def test_windows_fit_positions(bert: Path) -> None:
    assert load_backbone(str(bert), device="cpu").window == 94
    assert load_backbone(str(bert), device="cpu", window=20).window == 18


def test_the_artifact_changes_the_vectors(options: EncoderOptions) -> None:
    trained, untrained = load_encoder("slice", options), load_encoder("untrained", options)
    one, other = encode_queries(trained, ["the cat"]), encode_queries(untrained, ["the cat"])
    assert np.abs(one - other).max() > 0.01


def refused(kind: type[SpanseekError], source: str) -> SpanseekError:
    with pytest.raises(kind) as caught:
        load_backbone(source, device="cpu")
    assert caught.value.hint
    return caught.value


def test_artifact_of_another_backbone(bert: Path, tmp_path: Path) -> None:
    other = tiny_bert(tmp_path / "other", seed=2)
    artifact = load_artifact(artifact_for(other, tmp_path / "weights"))
    with pytest.raises(BackboneMismatch) as caught:
        SliceEncoder(load_backbone(str(bert), device="cpu"), artifact)
    assert caught.value.hint


@pytest.mark.parametrize(
    "tensors",
    [{"no.such": torch.zeros(2)}, {"encoder.layer.1.output.dense.weight": torch.zeros(1)}],
    ids=["name", "shape"],
)
def test_artifact_that_does_not_fit(bert: Path, tmp_path: Path, tensors: dict) -> None:
    config = {"backbone_sha256": sha256(bert / "model.safetensors")}
    artifact = save_artifact(tmp_path / "weights", tensors, config)
    with pytest.raises(BackboneMismatch):
        SliceEncoder(load_backbone(str(bert), device="cpu"), artifact)


def test_artifact_that_is_not_there(bert: Path, tmp_path: Path) -> None:
    with pytest.raises(BackboneMissing) as caught:
        load_encoder("slice", EncoderOptions(str(bert), tmp_path, "cpu"))
    assert caught.value.hint


def test_wrong_checksum_of_a_package(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PACKAGES, "tiny", "0" * 64)
    monkeypatch.setattr("models.backbones.folders._package_folder", lambda name: bert)
    assert "0" * 64 in str(refused(BackboneMismatch, "package:tiny"))


def test_one_wrong_bit(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = copied / "model.safetensors"
    monkeypatch.setitem(PACKAGES, "tiny", sha256(weights))
    monkeypatch.setattr("models.backbones.folders._package_folder", lambda name: copied)
    load_backbone("package:tiny", device="cpu")
    body = bytearray(weights.read_bytes())
    body[-100] ^= 1
    weights.write_bytes(body)
    refused(BackboneMismatch, "package:tiny")


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(BackboneMissing, str(tmp_path / "nowhere"))
    refused(BackboneMissing, str(tmp_path))
    refused(BackboneMissing, "package:no-such-package")
    monkeypatch.setitem(PACKAGES, "not-installed-model", "0" * 64)
    assert "pip install" in refused(BackboneMissing, "package:not-installed-model").hint
    refused(BackboneMissing, "hub:not a name/at/all")


def test_a_hub_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **named: object) -> None:
        raise ConnectionError("no network")

    monkeypatch.setattr("huggingface_hub.snapshot_download", fail)
    assert "no network" in str(refused(BackboneMissing, "hub:owner/name"))


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
def test_half_a_folder(copied: Path, name: str) -> None:
    (copied / name).unlink()
    (copied / "vocab.txt").unlink(missing_ok=True)
    refused(BackboneMissing, str(copied))


def test_weights_that_are_cut_off(copied: Path) -> None:
    weights = copied / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:200])
    refused(BackboneMissing, str(copied))


def test_only_safetensors_are_read(copied: Path) -> None:
    torch.save(load_file(copied / "model.safetensors"), copied / "pytorch_model.bin")
    (copied / "model.safetensors").unlink()
    assert "safetensors" in str(refused(BackboneMissing, str(copied)))


def test_unknown_encoder() -> None:
    with pytest.raises(UnknownEncoder) as caught:
        load_encoder("word2vec")
    assert "hashing" in caught.value.hint


@pytest.mark.parametrize("name", ["slice", "untrained"])
@pytest.mark.parametrize("special", ["[SEP]", "[CLS]", "[PAD]", "[MASK]"])
def test_special_tokens_in_a_text_are_text(options: EncoderOptions, name: str, special: str) -> None:
    (tokens,) = load_encoder(name, options).tokenize([f"cat {special} mat"])
    assert not {VOCABULARY.index(word) for word in ("[SEP]", "[CLS]", "[PAD]", "[MASK]")} & set(tokens.ids.tolist())
    covered = {at for start, end in tokens.spans.tolist() for at in range(start, end)}
    assert covered >= set(range(4, 4 + len(special)))


@pytest.mark.parametrize("name", ["slice", "untrained"])
def test_unknown_units_are_counted(options: EncoderOptions, name: str) -> None:
    (joined,) = tokenize_units(load_encoder(name, options), ["cat😀 👩‍👩‍👧 mat"])
    assert joined.unknown.tolist() == [False, True, True, False]


def test_artifacts_come_back(tmp_path: Path) -> None:
    tensors = {"a": torch.arange(6.0).reshape(2, 3).T, "b": torch.zeros(0)}
    saved = save_artifact(tmp_path / "deep" / "folder", tensors, {"seed": 1})
    again = load_artifact(tmp_path / "deep" / "folder")
    assert again.config == saved.config == {"seed": 1}
    assert again.sha256 == saved.sha256
    assert all(torch.equal(again.tensors[name], tensor) for name, tensor in tensors.items())
    save_file(
        {"a": tensors["a"].contiguous() + 1, "b": tensors["b"]}, tmp_path / "deep" / "folder" / "weights.safetensors"
    )
    assert load_artifact(tmp_path / "deep" / "folder").sha256 != saved.sha256


@pytest.fixture(scope="module")
def shipped() -> Encoder:
    return load_encoder("untrained", EncoderOptions(device="cpu"))


def test_the_default_backbone(shipped: Encoder) -> None:
    assert shipped.dim == 384
    near, far, origin = encode_queries(shipped, ["Cancel my contract.", "It rained in May.", "I want to end the deal"])
    assert origin @ near > origin @ far + 0.2
    (joined,) = tokenize_units(shipped, ["I can't pay €3.14 😀!"])
    text = "I can't pay €3.14 😀!"
    assert [text[a:b] for a, b in joined.spans] == ["I", "can't", "pay", "€", "3.14", "😀", "!"]


def test_the_default_backbone_reads_any_script(shipped: Encoder) -> None:
    text = 'e\u0301te\u0301 中国 สวัสดี مرحبا צה"ל 한국 क्षि \u200b\ufeff \r\n\0 ' + "x" * 500
    (joined,) = tokenize_units(shipped, [text])
    assert (joined.last > joined.first).all()
    pools = list(encode(shipped, split(shipped, [(Document("a", (Part(text),)), "")]), 512))
    assert sum(len(pool.vectors) for pool in pools) == len(joined)
