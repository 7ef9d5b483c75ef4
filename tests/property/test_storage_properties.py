"""Texts, metadata and codes come back as they went in."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from indexer.segments import layout
from indexer.segments.columns import canonical, metadata_columns, read_table, row_metadata, rows_holding, write_table
from indexer.segments.text import TextReader, TextWriter
from models.ops.quantization import dequantize, quantize
from tests import reference
from tests.examples import examples
from tests.strategies import json_values, metadata, texts


def stored(folder: Path, parts: list[str]) -> tuple[TextReader, list[int]]:
    path = folder / "text.zst"
    with path.open("wb") as file:
        writer = TextWriter(file)
        starts = [writer.append(part) for part in parts]
        table = writer.finish()
    assert writer.code_points == sum(map(len, parts))
    return TextReader(path, table), starts


@settings(max_examples=examples(25))
@given(st.lists(st.tuples(texts, st.sampled_from([0, 1, 700, 5000])), max_size=6), st.data())
def test_texts_over_several_frames(drawn, data) -> None:
    parts = [text * times for text, times in drawn]
    whole = "".join(parts)
    with TemporaryDirectory() as folder:
        reader, starts = stored(Path(folder), parts)
        assert [reader.read(start, start + len(part)) for start, part in zip(starts, parts, strict=True)] == parts
        near = st.one_of(
            st.integers(0, len(whole)),
            st.integers(0, len(whole) // layout.TEXT_BLOCK).map(lambda frame: frame * layout.TEXT_BLOCK),
            st.just(len(whole)),
        )
        for _ in range(6):
            start, end = sorted([data.draw(near), data.draw(near)])
            assert reader.read(start, end) == whole[start:end]
            assert reader.position(end, "codepoint") == end
            assert reader.position(end, "byte") == len(whole[:end].encode())
            assert reader.position(end, "utf16") == len(whole[:end].encode("utf-16-le")) // 2


@pytest.mark.parametrize("length", [0, 1, layout.TEXT_BLOCK - 1, layout.TEXT_BLOCK, layout.TEXT_BLOCK + 1, 50_000])
@pytest.mark.parametrize("sign", ["a", "é", "中", "😀"])
def test_frames_that_are_exactly_full(tmp_path: Path, length: int, sign: str) -> None:
    reader, _ = stored(tmp_path, [sign * length])
    assert reader.read(0, length) == sign * length
    assert reader.position(length, "byte") == length * len(sign.encode())
    assert reader.position(length, "utf16") == length * (2 if sign == "😀" else 1)


def round_trip(rows: list[dict]) -> pa.Table:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.arrow"
        ids = pa.array([str(row) for row in range(len(rows))], pa.string())
        write_table(path, {"id": ids} | metadata_columns(rows))
        return read_table(path)


@given(st.lists(metadata, max_size=5))
def test_metadata_comes_back(rows: list[dict]) -> None:
    table = round_trip(rows)
    assert table.num_rows == len(rows)
    assert all(reference.same_json(row_metadata(table, number), row) for number, row in enumerate(rows))


@given(st.lists(metadata, max_size=5), metadata)
def test_equality_is_that_of_json(rows: list[dict], other: dict) -> None:
    table = round_trip(rows)
    for wanted in [*rows, other]:
        found = rows_holding(table, wanted.items())
        assert found.tolist() == [reference.has_all(row, wanted) for row in rows]


def test_types_are_told_apart() -> None:
    values = [1, True, "1", "true", 0, False, None, "null", "", [], {}, [1], ["1"], {"a": 1}, {"a": True}]
    table = round_trip([{"k": value} for value in values] + [{}])
    for number, value in enumerate(values):
        elements = [row for row, other in enumerate(values) if isinstance(other, list) and _is_in(value, other)]
        expected = [row == number or row in elements for row in range(len(values) + 1)]
        assert rows_holding(table, [("k", value)]).tolist() == expected


def _is_in(value: object, elements: list) -> bool:
    return any(type(value) is type(element) and value == element for element in elements)


def test_lists_match_by_their_elements() -> None:
    table = round_trip([{"tags": tags} for tags in (["a", "b"], ["b"], "a", [["a"]], ["ab", 3.0], None, [])])
    for value, expected in (("a", [0, 2]), ("b", [0, 1]), (3, [4]), ("c", []), (["b"], [1]), (None, [5])):
        assert np.flatnonzero(rows_holding(table, [("tags", value)])).tolist() == expected


@given(json_values)
def test_one_spelling(value: object) -> None:
    assert reference.same_json(json.loads(canonical(value)), value)
    assert canonical(json.loads(json.dumps(value, indent=2))) == canonical(value)


vectors = arrays(
    np.float32,
    st.tuples(st.integers(0, 6), st.integers(1, 9)),
    elements=st.floats(-1e6, 1e6, width=32),
)


@given(vectors)
def test_quantization_is_within_half_a_step(drawn: np.ndarray) -> None:
    codes, scales = quantize(drawn)
    assert np.abs(codes.astype(int)).max(initial=0) <= 127
    error = np.abs(dequantize(codes, scales).astype(np.float64) - drawn)
    largest = np.abs(drawn.astype(np.float64)).max(axis=1, initial=0, keepdims=True)
    assert (error <= largest / 127 * 0.5 * (1 + 1e-5) + 1e-40).all()
    assert not codes[(drawn == 0).all(axis=1)].any()


@given(vectors)
def test_quantization_changes_no_argument_and_keeps_signs(drawn: np.ndarray) -> None:
    before = drawn.copy()
    codes, _ = quantize(drawn)
    assert (drawn == before).all()
    assert (codes * np.sign(drawn) >= 0).all()
