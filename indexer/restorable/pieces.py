"""The pieces of a text that a restorer can hold: its sentences, long ones halved."""

from collections.abc import Iterator

from models.encoders.restorable.base import Restorer
from models.text.borders import sentence_spans
from models.text.units import NEWEST, TextForm, split
from models.types import CharSpan


def pieces(text: str, restorer: Restorer, form: TextForm = NEWEST) -> Iterator[CharSpan]:
    """Yield the spans of sentences. One that is too long is halved between units, or within a single long unit."""
    spans = sentence_spans(text, form)
    for span, fits in zip(spans, restorer.fits([span.of(text) for span in spans]), strict=True):
        yield from [span] if fits else _halves(text, span, restorer, form)


def _halves(text: str, span: CharSpan, restorer: Restorer, form: TextForm) -> Iterator[CharSpan]:
    for half in _halved(text, span, form):
        (fits,) = restorer.fits([half.of(text)])
        yield from [half] if fits else _halves(text, half, restorer, form)


def _halved(text: str, span: CharSpan, form: TextForm) -> tuple[CharSpan, CharSpan]:
    units = split(span.of(text), form)
    if len(units) > 1:
        middle = len(units) // 2
        before, after = int(units[middle - 1, 1]), int(units[middle, 0])
        return CharSpan(span.start, span.start + before), CharSpan(span.start + after, span.end)
    middle = (span.start + span.end) // 2
    return CharSpan(span.start, middle), CharSpan(middle, span.end)
