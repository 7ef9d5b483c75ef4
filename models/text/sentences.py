"""The sentences of a text."""

from itertools import pairwise

from models.text.borders import border_codes, whole_starts
from models.text.forms import NEWEST, TextForm
from models.text.units import split
from models.types import CharSpan


def sentence_spans(text: str, form: TextForm = NEWEST) -> list[CharSpan]:
    """The characters of the sentences of a part.

    >>> [span.of("Stop it. Now!") for span in sentence_spans("Stop it. Now!")]
    ['Stop it.', 'Now!']
    """
    units = split(text, form)
    bounds = [*whole_starts(border_codes(text, units, form), "sentence").tolist(), len(units)]
    return [CharSpan(int(units[first, 0]), int(units[last - 1, 1])) for first, last in pairwise(bounds)]
