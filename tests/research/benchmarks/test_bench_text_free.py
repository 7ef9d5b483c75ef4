"""The benchmark of collections without texts, with a restorer that knows every text."""

from research.benchmarks.text_free import measure
from tests.byte_restorer import ByteRestorer


def test_sizes_and_times_are_measured() -> None:
    texts = ["It rains. Take a coat!", *(f"The parcel number {number} never came." for number in range(70))]
    figures = measure(texts, ByteRestorer(), restored=66)
    assert (figures.sentences, figures.exact) == (72, 1.0)
    assert figures.characters == sum(map(len, texts))
    assert 0 < figures.text_bytes < figures.with_text_bytes < figures.without_text_bytes
    assert figures.restorable_bytes_per_sentence == 64 + 4 + 2 * 32 + 1 + 4  # one stretch of 32 bytes
    assert figures.restore_alone_mean_ms >= 0 <= figures.restore_in_batches_ms
