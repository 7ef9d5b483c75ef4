"""The reader of safetensors against the package's own."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from models.tensors import read_tensors


def test_every_kind_comes_back(tmp_path: Path) -> None:
    tensors = {
        "half": torch.randn(3, 5).half(),
        "brain": torch.randn(7).bfloat16(),
        "single": torch.randn(2, 2, 2),
        "bytes": torch.arange(3, dtype=torch.int8),
        "whole": torch.tensor(7),
        "none": torch.zeros(0, 4),
    }
    save_file(tensors, tmp_path / "some.safetensors", {"format": "pt"})
    found = read_tensors(tmp_path / "some.safetensors")
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(found[name], tensor.float().numpy())
        assert found[name].shape == tuple(tensor.shape)
    assert found["half"].dtype == np.float16


@pytest.mark.parametrize("length", [4, 20, -3])
def test_half_a_file_is_refused(tmp_path: Path, length: int) -> None:
    path = tmp_path / "some.safetensors"
    save_file({"a": torch.randn(4)}, path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ValueError, match="ends within"):
        read_tensors(path)
