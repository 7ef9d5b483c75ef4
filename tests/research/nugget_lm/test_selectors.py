"""The rules that choose nuggets, against loops."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from research.nugget_lm.selectors import chunk_bounds, chunk_ends, sentence_ends

MARKS = st.lists(st.booleans(), min_size=1, max_size=40)


@given(MARKS, st.data())
def test_chunks_end_with_their_last_punctuation(marks: list[bool], data: st.DataObject) -> None:
    wanted = data.draw(st.integers(1, len(marks)))
    bounds = chunk_bounds(len(marks), wanted).tolist()
    assert [place for start, end in bounds for place in range(start, end)] == list(range(len(marks)))
    lengths = [end - start for start, end in bounds]
    assert max(lengths) - min(lengths) <= 1
    expected = [max([p for p in range(start, end) if marks[p]], default=end - 1) for start, end in bounds]
    assert chunk_ends(np.array(marks), wanted).tolist() == expected


@given(MARKS)
def test_sentences_end_where_a_run_of_stops_does(stops: list[bool]) -> None:
    expected = [n for n in range(len(stops)) if n == len(stops) - 1 or (stops[n] and not stops[n + 1])]
    assert sentence_ends(np.array(stops)).tolist() == expected


def test_no_tokens_no_sentences() -> None:
    assert sentence_ends(np.zeros(0, bool)).tolist() == []
