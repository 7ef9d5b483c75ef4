"""The benchmark of uploads: its bodies, and its figures of a small one."""

import gzip
import json

import pytest

from research.benchmarks.upload_tasks import Body, measure


def test_a_body_has_its_size_and_is_the_same_again() -> None:
    body = Body(1, 50)
    text = b"".join(body.pieces())
    assert 10**6 <= len(text) < 10**6 + 1000
    documents = [json.loads(line) for line in text.splitlines()]
    assert [each["id"] for each in documents] == [f"d{number}" for number in range(len(documents))]
    assert all(len(each["text"].split()) == 50 for each in documents)
    packed = b"".join(Body(1, 50, packed=True).pieces())
    assert gzip.decompress(packed) == text


@pytest.mark.slow("runs a benchmark")
def test_a_small_upload_arrives_whole_also_past_a_cut_and_a_kill() -> None:
    figures = measure(Body(4, 400, packed=True), "hashing", cut=True, kill=True)
    assert 0 < figures.cut_megabytes < figures.sent_megabytes
    assert (figures.missing, figures.progress_fell) == (0, 0)
    assert figures.starts == 2
    assert sum(figures.counts.values()) == figures.documents
    assert figures.sent_megabytes < figures.megabytes
    assert 0 < figures.idle_mb <= figures.peak_mb
