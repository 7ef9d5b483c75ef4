"""The benchmark of the page: its figures over a small collection."""

import shutil

import pytest

from research.benchmarks.page_figures import measure


@pytest.mark.slow("runs a benchmark")
@pytest.mark.skipif(shutil.which("chromium") is None, reason="no Chromium: apt-get install chromium")
def test_the_page_is_measured() -> None:
    figures = measure("hashing", documents=50, moves=5, characters=300_000)
    assert figures.documents_counted == 50
    assert 0 < figures.first_paint_ms <= figures.first_hit_ms
    assert 0 < figures.slider_p50_ms <= figures.slider_p95_ms
    assert figures.document_characters > 300_000
    assert figures.packed_bytes < 150_000
