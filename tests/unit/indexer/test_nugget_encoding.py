"""One forward pass gives unit vectors, to the bit those of a pass without nuggets, and nuggets with their places."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.indexing.encode import EncodedDocuments, encode, split
from indexer.nuggets.rows import NuggetRows
from models.encoders.hashing import HashingEncoder
from models.encoders.nuggets.forward_pass import NuggetPass
from models.encoders.passes import UnitPass
from models.encoders.registry import load_nuggets
from models.errors import InvalidInput
from models.types import CharSpan, Document, Part
from tests import strategies
from tests.examples import examples

WINDOW = 16
ENCODER = HashingEncoder(dim=8, window=WINDOW)
parts = st.lists(st.builds(Part, strategies.texts), max_size=3).map(tuple)


def nuggets(ratio: float) -> UnitPass:
    return UnitPass(ENCODER, {"nuggets": NuggetPass(load_nuggets("hashing", base=ENCODER), ratio).maker})


def encoded(documents: list[Document], with_nuggets: UnitPass | None, batch_tokens: int = 64) -> EncodedDocuments:
    """All pools, as one."""
    pools = list(encode(ENCODER, split(ENCODER, [(each, "") for each in documents]), batch_tokens, with_nuggets))
    vectors = np.concatenate([pool.vectors for pool in pools])
    if with_nuggets is None:
        assert all(pool.rows == {} for pool in pools)
        return EncodedDocuments([], vectors)
    before = np.cumsum([0, *(len(pool.vectors) for pool in pools)])
    rows = [stored(pool) for pool in pools]
    joined = NuggetRows(
        np.concatenate([each.vectors for each in rows]),
        np.concatenate([each.spans for each in rows]),
        np.concatenate([each.units + first for each, first in zip(rows, before, strict=False)]),
    )
    return EncodedDocuments([], vectors, {"nuggets": joined})


def stored(pool: EncodedDocuments) -> NuggetRows:
    rows = pool.rows["nuggets"]
    assert isinstance(rows, NuggetRows)
    return rows


@settings(max_examples=examples(20))
@given(st.lists(parts, min_size=1, max_size=4), st.sampled_from([0.01, 0.1, 0.5, 1.0]))
def test_unit_vectors_are_the_same_to_the_bit_with_and_without_nuggets(drawn, ratio) -> None:
    documents = [Document(str(number), parts) for number, parts in enumerate(drawn)]
    plain, both = encoded(documents, None), encoded(documents, nuggets(ratio))
    assert plain.vectors.tobytes() == both.vectors.tobytes()
    found = stored(both)
    assert (np.diff(found.units) >= 0).all()
    np.testing.assert_allclose(np.linalg.norm(found.vectors, axis=1), 1, atol=1e-5)
    assert (found.units >= 0).all()
    assert (found.units < len(both.vectors)).all()


@settings(max_examples=examples(20))
@given(st.lists(parts, min_size=1, max_size=4), st.sampled_from([0.01, 0.2, 1.0]))
def test_every_part_with_a_unit_has_a_nugget_and_it_stands_where_it_says(drawn, ratio) -> None:
    documents = [Document(str(number), parts) for number, parts in enumerate(drawn)]
    found = stored(encoded(documents, nuggets(ratio)))
    first = tokens = 0
    for (item,) in (list(split(ENCODER, [(document, "")])) for document in documents):
        start = 0
        for part, units in zip(item.document.parts, item.parts, strict=True):
            inside = (found.units >= first) & (found.units < first + len(units))
            assert inside.any() == (len(units) > 0)
            for span, unit in zip(found.spans[inside].tolist(), found.units[inside].tolist(), strict=True):
                # The hashing encoder's tokens are words: nearly always one of each unit, but `x_1` is three units. With
                # very few nuggets a window may have to keep one of a unit that is stored from its neighbour.
                in_part = [at - start for at in span]
                assert in_part in units.tokens.spans.tolist()
                assert CharSpan(*span).of(item.document.text) == CharSpan(*in_part).of(part.text)
                begin, end = units.spans[unit - first]
                assert ratio <= 0.2 or max(begin, in_part[0]) < min(end, in_part[1])
            first += len(units)
            tokens += len(units.tokens.spans) if len(units) else 0
            start += len(part.text) + 1
    assert ratio < 1 or len(found) == tokens


def test_a_short_text_has_as_many_nuggets_as_its_ratio_says() -> None:
    text = " ".join(f"w{number}" for number in range(WINDOW))
    for ratio, count in ((0.05, 1), (0.25, 4), (0.3, 5), (1.0, 16)):
        found = stored(encoded([Document("a", (Part(text),))], nuggets(ratio)))
        assert len(found) == count


def test_a_long_text_has_the_nuggets_of_all_its_windows_none_of_them_twice() -> None:
    text = " ".join(f"w{number}" for number in range(500))
    found = stored(encoded([Document("a", (Part(text),))], nuggets(0.25)))
    places = [tuple(span) for span in found.spans.tolist()]
    assert max(Counter(places).values()) == 1
    assert len(places) == pytest.approx(125, abs=25)
    # They are spread over the whole text, end included.
    assert np.diff([0, *found.units.tolist(), 500]).max() < 2 * WINDOW


def test_batches_make_no_difference() -> None:
    texts = [" ".join(f"w{number * size}" for number in range(size)) for size in (3, 40, 7, 100)]
    documents = [Document(str(number), (Part(text),)) for number, text in enumerate(texts)]
    one, other = (stored(encoded(documents, nuggets(0.3), batch_tokens)) for batch_tokens in (WINDOW, 4096))
    for name in ("vectors", "spans", "units"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_two_representations_do_not_read_the_network_of_one_pass() -> None:
    maker = NuggetPass(load_nuggets("hashing", base=ENCODER), 0.5).maker
    with pytest.raises(InvalidInput, match="nuggets and others cannot be made in one forward pass"):
        UnitPass(ENCODER, {"nuggets": maker, "others": maker})
