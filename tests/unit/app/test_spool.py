"""Bodies on the disk: whatever pieces they arrive in, they are counted, and damaged ones are refused."""

import gzip
import random
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.tasks.spool import BodyWriter, ResultWriter, Spool
from models.errors import InvalidInput
from tests.examples import examples


def written(path: Path, data: bytes, cuts: list[int], *, packed: bool) -> BodyWriter:
    body = BodyWriter(path, packed=packed)
    ends = sorted({cut % (len(data) + 1) for cut in cuts} | {len(data)})
    with closing(body):
        for begin, end in zip([0, *ends], ends, strict=False):
            body.write(data[begin:end])
        body.finish()
    return body


@given(st.lists(st.binary(max_size=300) | st.integers(1, 200_000).map(bytes), min_size=1, max_size=3),
       st.lists(st.integers(0, 10**6), max_size=5))  # fmt: skip
@settings(max_examples=examples(80), deadline=None)
def test_a_body_is_counted_whatever_pieces_it_arrives_in(tmp_path_factory, members, cuts) -> None:
    folder, text = tmp_path_factory.mktemp("spool"), b"".join(members)
    plain = written(folder / "body.ndjson", text, cuts, packed=False)
    assert (plain.bytes, plain.text_bytes) == (len(text), len(text))
    packed = b"".join(map(gzip.compress, members))
    body = written(folder / "body.ndjson.gz", packed, cuts, packed=True)
    assert (body.bytes, body.text_bytes) == (len(packed), len(text))
    assert gzip.decompress((folder / "body.ndjson.gz").read_bytes()) == text


@given(st.binary(min_size=1, max_size=500), st.integers(1, 10**6), st.lists(st.integers(0, 10**6), max_size=3))
@settings(max_examples=examples(80), deadline=None)
def test_truncated_gzip_is_refused(tmp_path_factory, text, cut, cuts) -> None:
    packed = gzip.compress(text)
    shorter = packed[: len(packed) - 1 - cut % (len(packed) - 1)]
    with pytest.raises(InvalidInput):
        written(tmp_path_factory.mktemp("spool") / "body", shorter, cuts, packed=True)


def test_a_flipped_byte_is_refused(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(random.Random(1).randbytes(1000)))
    packed[500] ^= 1
    with pytest.raises(InvalidInput):
        written(tmp_path / "body", bytes(packed), [], packed=True)
    with pytest.raises(zlib.error):
        zlib.decompress(bytes(packed), wbits=31)


def test_results_after_the_checkpoint_are_dropped(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "t")
    first = ResultWriter(spool, 0)
    first.append(iter([{"line": 1}]))
    checkpoint = first.bytes
    first.append(iter([{"line": 2}]))
    first.close()
    again = ResultWriter(spool, checkpoint)
    again.append(iter([{"line": 22}]))
    again.close()
    assert b"".join(spool.read_results(again.bytes)) == b'{"line": 1}\n{"line": 22}\n'
    assert b"".join(spool.read_results(checkpoint)) == b'{"line": 1}\n'
    assert list(Spool(tmp_path / "nothing").read_results(0)) == []
