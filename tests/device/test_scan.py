"""The device executor on a GPU: the results of the processor, within bounds of memory."""

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

import indexer.engine.device
from indexer.engine.device import DeviceExecutor, _Copy
from indexer.engine.executor import Executor
from indexer.engine.query import Filter, Selection
from indexer.segments.layout import BLOCK
from models.errors import DeviceMemoryExhausted
from tests.contracts.test_executors import Case, collection, unit
from tests.device.conftest import Gpu
from tests.executors import found_by

SIZES = [[[70, 300, 5], [640], [1, 2, 90, 30]], [[400, 33], [200]]]
SELECTIONS = [
    Selection(top_k=5),
    Selection(top_k=7, group_by="document"),
    Selection(top_k=3, filter=Filter({"colour": "red"})),
]


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return collection(tmp_path_factory.mktemp("segments"), (1, 20), SIZES, "random", 5, {1})


def queries(count: int) -> np.ndarray:
    return unit(np.random.default_rng(9).normal(size=(count, 8)))


def assert_equal(case: Case, device: torch.device, count: int = 3) -> None:
    executor = DeviceExecutor(device)
    for selection in SELECTIONS:
        found = found_by(executor, case.snapshot, queries(count), selection, None)
        assert found == found_by(Executor(), case.snapshot, queries(count), selection, None)


@pytest.mark.parametrize("count", [1, 5])
def test_hits_are_those_of_the_processor(gpu: Gpu, case: Case, count: int) -> None:
    assert_equal(case, gpu.device, count)


def test_a_turn_without_room_is_halved(gpu: Gpu, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    best_of_starts, turns = _Copy.best_of_starts, []

    def refusing(self, blocks, *others):
        if len(blocks) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        turns.append(len(blocks))
        return best_of_starts(self, blocks, *others)

    monkeypatch.setattr(_Copy, "best_of_starts", refusing)
    assert_equal(case, gpu.device)
    assert max(turns) == 2


def test_a_block_without_room_is_a_clear_error(gpu: Gpu, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(_Copy, "best_of_starts", refusing)
    with pytest.raises(DeviceMemoryExhausted):
        assert_equal(case, gpu.device)


def test_memory_is_planned_before_a_segment_is_copied(gpu: Gpu, case: Case) -> None:
    fake = gpu.played
    fake.free = 2**20
    with pytest.raises(DeviceMemoryExhausted, match="GiB are free") as refused:
        found_by(DeviceExecutor(gpu.device), case.snapshot, queries(1), Selection(), None)
    assert refused.value.hint
    assert not fake.largest


def test_a_mask_goes_to_the_device_once(gpu: Gpu, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer.engine.device, "_TURN_BYTES", 1)  # a block a turn
    executor, fake = DeviceExecutor(gpu.device), gpu.played
    found_by(executor, case.snapshot, queries(1), SELECTIONS[2], None)
    fake.sent.clear()
    found_by(executor, case.snapshot, queries(1), SELECTIONS[2], None)
    sent = sum(tensor.numel() for tensor in fake.sent if tensor.dtype == torch.bool)
    assert 0 < sent <= sum(len(view.segment.norm_codes) * BLOCK for view in case.snapshot.views)


def test_a_segment_is_copied_in_parts(gpu: Gpu, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer.engine.device, "_COPY_BYTES", 100)
    assert_equal(case, gpu.device)


class Largest(TorchDispatchMode):
    """Notes the bytes of the largest tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for each in tree_flatten(made)[0]:
            if isinstance(each, torch.Tensor):
                self.bytes = max(self.bytes, each.numel() * each.element_size())
        return made


@pytest.mark.parametrize(("dim", "count"), [(384, 1), (384, 64), (1024, 1), (1024, 2000), (128, 1), (8, 1)])
def test_no_array_of_a_turn_is_large(dim: int, count: int) -> None:
    """The arrays of a turn in a segment of 31 million units, none of which is made."""
    units, lengths, terms = 31 * 10**6 // BLOCK * BLOCK, 20, 21
    with FakeTensorMode(), torch.inference_mode():
        reach = BLOCK + lengths - 1
        copy = _Copy.__new__(_Copy)
        made = {
            "shortest": 1,
            "reach": reach,
            "codes": torch.zeros(units // BLOCK, lengths, BLOCK, dtype=torch.uint8),
            "affine": torch.zeros(units // BLOCK, lengths, 2),
            "vectors": torch.zeros(units + reach - BLOCK, dim, dtype=torch.int8),
            "scales": torch.zeros(units + reach - BLOCK),
            "borders": torch.zeros(units + reach - BLOCK + 1, dtype=torch.int32),
            "sentence_starts": torch.zeros(256, dtype=torch.bool),
        }
        copy.__dict__.update(made)
        given = torch.zeros(dim, count), torch.zeros(count), torch.zeros(count, terms), torch.zeros(16), torch.zeros(16)
        turn = copy.blocks_a_turn(given[0])
        with Largest() as largest:
            top = copy.best_of_starts(torch.arange(turn), *given, torch.zeros(count))
        assert top.shape == (turn, BLOCK, count)
    assert 1 < turn < units // BLOCK or count == 2000
    assert largest.bytes <= 2**29
