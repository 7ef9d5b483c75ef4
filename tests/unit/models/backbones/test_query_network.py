"""What reads queries without torch says what the network says that transformers builds."""

import json
import math
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import BertConfig, BertModel, BertTokenizerFast

from models.backbones.files import BackboneFiles
from models.backbones.opening import open_backbone
from models.backbones.query_network import QueryNetwork, in_parts
from models.backbones.torch_network import Backbone, load_backbone, unpadded
from models.encoders.base import check_query, encode_queries
from models.encoders.registry import EncoderOptions, load_encoder
from models.encoders.slice import SliceEncoder
from models.errors import BackboneMismatch, InvalidInput
from models.kernels.products import (
    COLUMNS,
    bfloat16,
    multiplies_bfloat16,
    reads_halves,
    tiled,
    tiled_pairs,
    tiled_quads,
    whole_numbers,
)
from models.kernels.transformer import dense, erf, exp, gelu, round_to_bfloat16, round_to_bytes
from models.priority import lower_priority
from tests.tiny_bert import PROSE, save_tiny_bart, save_tiny_bert

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz", *(f"##{c}" for c in "abcxyz")]


def bert(folder: Path, *, halves: bool = False, **settings: object) -> Path:
    """A BERT whose sizes are no multiples of what kernels read at once."""
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(5)
    sizes = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 40}
    model = BertModel(BertConfig(vocab_size=len(WORDS), initializer_range=0.5, **sizes | settings)).eval()
    (model.half() if halves else model).save_pretrained(folder)
    return folder


def windows(lengths: list[int], vocabulary: int = len(WORDS)) -> list[np.ndarray]:
    random = np.random.default_rng(sum(lengths))
    return [random.integers(5, vocabulary, length).astype(np.int32) for length in lengths]


def single(network: Backbone, batch: list[np.ndarray]) -> list[np.ndarray]:
    """The states that torch gives in float32, whatever the processor does best."""
    ids, mask = network.pad(batch)
    with torch.inference_mode():
        states = network.model(input_ids=ids, attention_mask=mask).last_hidden_state
    return unpadded(states.numpy(), network.begin, [len(window) for window in batch])


@pytest.mark.ci("many sizes")
@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("lengths", [[1], [4], [9], [70], [7, 3, 1], [30, 2], [1] * 40])
def test_hidden_states_are_the_same(tmp_path: Path, lengths: list[int], halves: bool) -> None:
    folder = bert(tmp_path, halves=halves)
    read = SliceEncoder(open_backbone(str(folder))).query_network
    assert read is not None
    assert (read.layers.qkv.tiles.dtype == np.uint16) == (halves and reads_halves())
    for found, expected in zip(
        read(windows(lengths)), single(load_backbone(str(folder), device="cpu"), windows(lengths)), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=2e-5)


def test_a_window_does_not_depend_on_others_to_the_last_bit(tmp_path: Path) -> None:
    read = SliceEncoder(open_backbone(str(bert(tmp_path)))).query_network
    assert read is not None
    batch = windows([3, 17, 1, 64, 5])
    for together, window in zip(read(batch), batch, strict=True):
        np.testing.assert_array_equal(together, read([window])[0])


def test_no_digit_of_a_weight_is_lost() -> None:
    matrix = np.full((3, 40), 1 + 2.0**-14, np.float32)
    out = np.empty((1, 3), np.float32)
    dense(np.ones((1, 40), np.float32), tiled(matrix), np.zeros(3, np.float32), False, out)
    np.testing.assert_allclose(out, 40 * (1 + 2.0**-14), rtol=1e-6)


@pytest.mark.parametrize("rows", [1, 2, 5, 6, 7, 13, 31])
@pytest.mark.parametrize("outputs", [1, COLUMNS - 1, COLUMNS, COLUMNS + 1])
@pytest.mark.parametrize("halves", [False, True])
def test_products(rows: int, outputs: int, halves: bool) -> None:
    random = np.random.default_rng(rows)
    left, bias = random.normal(size=(rows, 12)).astype(np.float32), random.normal(size=outputs).astype(np.float32)
    matrix = random.normal(size=(outputs, 12)).astype(np.float16)
    tiles, out = tiled(matrix, halves=halves and reads_halves()), np.empty((rows, outputs), np.float32)
    dense(left, tiles.view(np.uint16) if tiles.dtype == np.float16 else tiles, bias, False, out)
    np.testing.assert_allclose(out, left @ matrix.astype(np.float32).T + bias, atol=1e-5)


def test_functions_are_as_exact_as_their_numbers() -> None:
    for x in np.linspace(-9, 9, 997, dtype=np.float32):
        assert abs(erf(x) - math.erf(x)) < 5e-7
        assert abs(gelu(x) - x * (1 + math.erf(x / math.sqrt(2))) / 2) < 1e-6
    for x in np.linspace(-80, 0, 997, dtype=np.float32):
        assert abs(exp(x) / math.exp(x) - 1) < 1e-5
        assert abs(exp(x) - math.exp(x)) < 2e-7
    assert exp(np.float32(-1e9)) < 1e-37


def test_threads_share_and_order_is_kept() -> None:
    texts = [[number] * (1 + number % 7) for number in range(100)]
    assert in_parts(texts, lambda part: [text[0] for text in part]) == list(range(100))
    assert in_parts([], lambda part: list(part)) == []


TEXTS = [
    *PROSE.split(),
    "The cat can't pay €3.14 😀!",
    "e\u0301te\u0301 中国 สวัสดี مرحبا [SEP] [MASK]",
    "ÀÉ Straße ﬁ \u200b\ufeff \r\n\0 tab\tend",
    "x" * 500,
    "",
    "word " * 40_000,
]


@pytest.fixture(scope="module")
def both() -> tuple[BackboneFiles, Backbone]:
    return open_backbone(device="cpu"), load_backbone(device="cpu")


def test_tokens_are_those_of_transformers(both: tuple[BackboneFiles, Backbone]) -> None:
    light, heavy = both
    assert not isinstance(light, Backbone)
    assert light.fingerprint == heavy.fingerprint
    assert (light.window, light.dim, light.unknown) == (heavy.window, heavy.dim, heavy.unknown)
    assert light.tokenizer.padding == heavy.tokenizer.padding
    for one, other in zip(light.tokenize(TEXTS), heavy.tokenize(TEXTS), strict=True):
        np.testing.assert_array_equal(one.ids, other.ids)
        np.testing.assert_array_equal(one.spans, other.spans)
        np.testing.assert_array_equal(one.unknown, other.unknown)


def test_vectors_of_the_shipped_weights_are_those_of_torch() -> None:
    encoder = load_encoder("slice", EncoderOptions(device="cpu"))
    assert isinstance(encoder, SliceEncoder)
    words = "the tenant must not sublet a flat before Monday, said Ann: it's €3 more than 中国 pays 😀".split()  # noqa: SIM905
    phrases = [" ".join(words[start : start + length]) for start in range(len(words)) for length in (1, 2, 4, 7, 18)]
    found = encode_queries(encoder, phrases)
    batch = [tokens.ids for tokens in encoder.tokenize(phrases)]
    means = [states.mean(axis=0) for states in single(encoder.backbone, batch)]
    expected = np.stack([mean / np.linalg.norm(mean) for mean in means])
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_over_long_queries_are_refused(both: tuple[BackboneFiles, Backbone]) -> None:
    encoder = SliceEncoder(both[0])
    check_query(encoder, "cat " * encoder.window)
    with pytest.raises(InvalidInput, match="tokens"):
        encode_queries(encoder, ["cat " * (encoder.window + 1)])


def assert_falls_back(folder: Path) -> None:
    """Torch and transformers read it, and queries with it."""
    backbone = open_backbone(str(folder), device="cpu")
    assert isinstance(backbone, Backbone)
    assert backbone.fingerprint == load_backbone(str(folder), device="cpu").fingerprint
    assert encode_queries(SliceEncoder(backbone), ["the cat sat"]).shape == (1, backbone.dim)


def change(path: Path, **settings: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))


def test_another_architecture_is_read_by_torch(tmp_path: Path) -> None:
    folder = save_tiny_bart(tmp_path)
    assert_falls_back(folder)
    assert SliceEncoder(open_backbone(str(folder), device="cpu")).query_network is None


@pytest.mark.parametrize("settings", [{"hidden_act": "relu"}, {"is_decoder": True}], ids=str)
def test_another_kind_of_bert_is_read_by_torch(tmp_path: Path, settings: dict) -> None:
    folder = bert(tmp_path, **settings)
    assert_falls_back(folder)
    assert SliceEncoder(open_backbone(str(folder), device="cpu")).query_network is None


def test_without_a_tokenizer_file_transformers_makes_one(tmp_path: Path) -> None:
    folder = save_tiny_bert(tmp_path)
    (folder / "tokenizer.json").unlink()
    assert_falls_back(folder)


@pytest.mark.parametrize(
    "settings", [{"do_lower_case": False}, {"tokenizer_class": "Odd"}, {"unk_token": "[MASK]"}], ids=str
)
def test_where_files_disagree_transformers_decides(tmp_path: Path, settings: dict) -> None:
    folder = save_tiny_bert(tmp_path)
    assert not isinstance(open_backbone(str(folder), device="cpu"), Backbone)
    change(folder / "tokenizer_config.json", **settings)
    assert isinstance(open_backbone(str(folder), device="cpu"), Backbone)


def test_a_tokenizer_that_changes_meanwhile_is_refused(tmp_path: Path) -> None:
    folder = save_tiny_bert(tmp_path)
    encoder = SliceEncoder(open_backbone(str(folder), device="cpu"))
    change(folder / "config.json", num_attention_heads=4)
    with pytest.raises(BackboneMismatch) as caught:
        encoder.backbone  # noqa: B018
    assert caught.value.hint


def test_a_network_that_was_changed_in_memory_reads_queries_as_it_is(tmp_path: Path) -> None:
    backbone = load_backbone(str(save_tiny_bert(tmp_path)), device="cpu")
    (before,) = encode_queries(SliceEncoder(backbone), ["the cat sat"])
    with torch.no_grad():
        backbone.model.encoder.layer[1].output.dense.weight.mul_(2)
    (after,) = encode_queries(SliceEncoder(backbone), ["the cat sat"])
    assert np.abs(before - after).max() > 1e-3
    assert isinstance(SliceEncoder(backbone).query_network, QueryNetwork)


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no priority of their own")
def test_threads_work_at_the_priority_of_their_caller() -> None:
    def priorities() -> set[int]:
        return set(in_parts([[0]] * 64, lambda part: [os.getpriority(os.PRIO_PROCESS, 0) for _ in part]))

    def lowered() -> set[int]:
        lower_priority()
        return priorities()

    usual = priorities()
    with ThreadPoolExecutor(1) as pool:
        (low,) = pool.submit(lowered).result()
    assert low > max(usual)
    assert priorities() == usual


def widened(values: np.ndarray) -> np.ndarray:
    """The numbers that bits of bfloat16 stand for."""
    return (values.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)


@given(st.lists(st.floats(-(2.0**99), 2.0**99, width=32), min_size=1))
def test_bfloat16_is_that_of_torch(values: list[float]) -> None:
    numbers = np.array(values, np.float32)
    expected = torch.from_numpy(numbers).to(torch.bfloat16).view(torch.int16).numpy()
    np.testing.assert_array_equal(bfloat16(numbers), expected)
    compiled = np.empty(len(numbers), np.int16)
    round_to_bfloat16(numbers, compiled)
    np.testing.assert_array_equal(compiled, expected)


@pytest.mark.skipif(not multiplies_bfloat16(), reason="this processor does not multiply bfloat16")
@pytest.mark.parametrize(("rows", "inputs", "outputs"), [(1, 2, 1), (5, 16, 70), (6, 24, 64), (7, 40, 130), (61, 8, 3)])
def test_products_of_bfloat16_are_exact_up_to_their_sums(rows: int, inputs: int, outputs: int) -> None:
    random = np.random.default_rng(rows)
    left, weight = (random.normal(size=shape).astype(np.float32) for shape in ((rows, inputs), (outputs, inputs)))
    bias, out = random.normal(size=outputs).astype(np.float32), np.empty((rows, outputs), np.float32)
    dense(bfloat16(left), tiled_pairs(weight), bias, False, out)
    expected = widened(bfloat16(left)) @ widened(bfloat16(weight)).T + bias
    np.testing.assert_allclose(out, expected, atol=1e-5 * inputs)


@given(st.lists(st.floats(-(2.0**99), 2.0**99, width=32), min_size=1, max_size=70))
def test_bytes_are_as_near_as_256_steps_let_them_be(values: list[float]) -> None:
    numbers = np.array(values, np.float32)
    found, range_ = np.empty(len(values), np.uint8), np.empty(2, np.float32)
    round_to_bytes(numbers, found, range_)
    step, least = range_.astype(np.float64)
    assert least == numbers.min()
    assert step == pytest.approx((float(numbers.max()) - float(numbers.min())) / 255, rel=1e-6)
    assert np.abs(found * step + least - numbers).max() <= (0.5 + 1e-4) * step + 1e-5 * abs(least)


@pytest.mark.parametrize("activated", [False, True])
@pytest.mark.parametrize(("rows", "inputs", "outputs"), [(1, 4, 1), (5, 16, 70), (6, 24, 64), (7, 40, 130), (61, 8, 3)])
def test_products_of_bytes_are_those_of_what_they_stand_for(
    rows: int, inputs: int, outputs: int, activated: bool
) -> None:
    random = np.random.default_rng(rows)
    weight = random.normal(size=(outputs, inputs)).astype(np.float32)
    numbers, scales = whole_numbers(weight)
    assert np.abs(numbers * scales[0][:, None] - weight).max() <= 0.5001 * scales[0].max()
    left, ranges = random.integers(0, 256, (rows, inputs), np.uint8), random.normal(size=(rows, 2)).astype(np.float32)
    bias, out = random.normal(size=outputs).astype(np.float32), np.empty((rows, outputs), np.float32)
    dense(left, tiled_quads(numbers), bias, activated, out, ranges, scales)
    values = left * ranges[:, :1].astype(np.float64) + ranges[:, 1:]
    expected = values @ (numbers * scales[0][:, None].astype(np.float64)).T + bias
    if activated:
        expected = torch.nn.functional.gelu(torch.from_numpy(expected)).numpy()
    np.testing.assert_allclose(out, expected, atol=1e-4 * inputs)


@pytest.mark.native_precision
@pytest.mark.skipif(not multiplies_bfloat16(), reason="this processor does not multiply bfloat16")
@pytest.mark.ci("compiles kernels for other processors")
def test_texts_in_bfloat16_are_nearer_to_float32_than_those_of_torch(tmp_path: Path) -> None:
    folder = bert(tmp_path)
    encoder = SliceEncoder(open_backbone(str(folder)))
    assert encoder.text_network is not None
    network = load_backbone(str(folder), device="cpu")
    batch = windows([60, 9, 33, 1])
    (theirs,) = network.forward([batch])
    exact = single(network, batch)
    ours = encoder.forward_texts(batch)

    def error(found: list[np.ndarray]) -> float:
        return max(float(np.abs(one - other).max()) for one, other in zip(found, exact, strict=True))

    assert 0 < error(ours) <= error(theirs)
    for alone, together in zip(map(encoder.forward_texts, [[window] for window in batch]), ours, strict=True):
        np.testing.assert_array_equal(alone[0], together)


def test_texts_are_read_as_queries_where_bfloat16_is_not_native(tmp_path: Path) -> None:
    encoder = SliceEncoder(open_backbone(str(bert(tmp_path))))
    assert encoder.text_network is None
    for one, other in zip(encoder.forward_texts(windows([7, 3])), encoder.forward_query(windows([7, 3])), strict=True):
        np.testing.assert_array_equal(one, other)
