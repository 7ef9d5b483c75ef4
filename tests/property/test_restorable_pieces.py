"""The pieces of any text: they fit, they are in order, and they hold every unit."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from indexer.restorable.pieces import pieces
from models.text.units import split
from tests.byte_restorer import ByteRestorer

TEXTS = st.text(st.sampled_from("ab .!?\n\t東😀é"), max_size=400)


@given(TEXTS)
def test_pieces_fit_and_hold_every_unit(text: str) -> None:
    restorer = ByteRestorer()
    spans = list(pieces(text, restorer))
    assert all(restorer.fits([span.of(text) for span in spans]))
    assert all(before.end <= after.start for before, after in pairwise(spans))
    held = {at for span in spans for at in range(span.start, span.end)}
    assert all(set(range(start, end)) <= held for start, end in split(text).tolist())
