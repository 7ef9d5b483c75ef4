"""The unit splitter ``units.v1``. Span lengths are counted in units, independent of any backbone.

A unit is a word as Unicode's UAX #29 delimits it, or one grapheme: punctuation, symbols, and letters of scripts
without spaces (Chinese, Japanese, Thai) are units by themselves. White space belongs to no unit, unless marks make
it part of a visible grapheme (a space with an acute accent on it). No unit starts or ends inside a grapheme, and a
word of more than ``MAX_LENGTH`` code points is cut into several.
"""

from collections.abc import Iterator
from itertools import chain
from operator import methodcaller

import numpy as np
import regex
from jaxtyping import Int

from models.interruption import checked
from models.types import CharSpans

VERSION = "units.v1"
MAX_LENGTH = 64
# Units between two checkpoints: some ten milliseconds.
_AT_ONCE = 16_384

# UAX #29, rules WB3 to WB13, as one expression. Everything that only extends a character (WB4) is
# included, by both the word and the grapheme definition, so that a word never ends inside a grapheme.
_EXTEND = r"[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}\p{GCB=Extend}\p{GCB=SpacingMark}]*+"
_LATIN = rf"\p{{WB=ALetter}}{_EXTEND}"  # and all other scripts with words, except Hebrew
_HEBREW = rf"\p{{WB=Hebrew_Letter}}{_EXTEND}"
_LETTER = rf"(?:{_LATIN}|{_HEBREW})"
_DIGIT = rf"\p{{WB=Numeric}}{_EXTEND}"
_KATAKANA = rf"\p{{WB=Katakana}}{_EXTEND}"
_JOINER = rf"\p{{WB=ExtendNumLet}}{_EXTEND}"
_SINGLE_QUOTE = rf"\p{{WB=Single_Quote}}{_EXTEND}"
_DOUBLE_QUOTE = rf"\p{{WB=Double_Quote}}{_EXTEND}"
_INSIDE_LETTERS = rf"[\p{{WB=MidLetter}}\p{{WB=MidNumLet}}\p{{WB=Single_Quote}}]{_EXTEND}(?={_LETTER})"
_INSIDE_DIGITS = rf"[\p{{WB=MidNum}}\p{{WB=MidNumLet}}\p{{WB=Single_Quote}}]{_EXTEND}(?={_DIGIT})"
_LETTERS = (
    rf"(?:{_LATIN}(?:{_INSIDE_LETTERS})?"
    rf"|{_DIGIT}(?:{_INSIDE_DIGITS})?"
    rf"|{_HEBREW}(?:{_INSIDE_LETTERS}|{_DOUBLE_QUOTE}(?={_HEBREW}))?(?!{_SINGLE_QUOTE}))"
)
# A Hebrew word may end in a single quote, after which nothing joins.
_LAST_HEBREW = rf"{_HEBREW}{_SINGLE_QUOTE}"
# Letters and Katakana break where they meet, unless joiners (underscores) lie between them.
_RUN = rf"(?:{_LETTERS}++(?:{_LAST_HEBREW})?|{_LAST_HEBREW}|(?:{_KATAKANA})++)"
_JOINERS = rf"(?:{_JOINER})++"
_JOINED = rf"(?<!{_SINGLE_QUOTE}){_JOINERS}"
_WORD = rf"(?:{_JOINERS})?{_RUN}(?:{_JOINED}{_RUN})*+(?:{_JOINED})?|{_JOINERS}"
# ``\X`` counts the regional indicators before a place to pair them: a long run of them would take quadratic time.
# Matches start at even places of a run, where two before a third are a grapheme; ``\X`` reads only the run's end.
_FLAG = r"\p{GCB=Regional_Indicator}{2}(?=\p{GCB=Regional_Indicator})"
# Most words are plain letters before a space; trying these first makes splitting twice as fast.
_UNIT = regex.compile(rf"[A-Za-z]++(?= )|{_WORD}|{_FLAG}|(?!\s)\X", regex.V1)
_GRAPHEME = regex.compile(rf"{_FLAG}|\X", regex.V1)
_SPAN = methodcaller("span")


def split(text: str) -> CharSpans:
    """Character spans of the units of a text, in order, never overlapping.

    >>> text = "Can't pay 3.14 €?"
    >>> [text[start:end] for start, end in split(text)]
    ["Can't", 'pay', '3.14', '€', '?']
    >>> split("").shape
    (0, 2)
    """
    found = checked(map(_SPAN, _UNIT.finditer(text)), _AT_ONCE)
    spans = np.fromiter(chain.from_iterable(found), np.int64).reshape(-1, 2)
    if not text.isascii():
        spans = _snap_to_graphemes(text, spans)
    if len(spans) and (spans[:, 1] - spans[:, 0]).max() > MAX_LENGTH:
        spans = np.array([piece for span in spans.tolist() for piece in _bounded(text, *span)], np.int64)
    return spans


def _snap_to_graphemes(text: str, spans: CharSpans) -> Int[np.ndarray, "kept 2"]:
    """Extend spans to whole graphemes: UAX #29 rarely ends a word inside one. The first span keeps the grapheme."""
    ends_of = (match.end() for match in _GRAPHEME.finditer(text))
    bounds = np.fromiter(chain([0], checked(ends_of, _AT_ONCE)), np.int64)
    starts = bounds[np.searchsorted(bounds, spans[:, 0], side="right") - 1]
    ends = bounds[np.searchsorted(bounds, spans[:, 1])]
    starts[1:] = np.maximum(starts[1:], ends[:-1])
    return np.stack([starts, ends], axis=1)[ends > starts]


def _bounded(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut one unit into pieces of at most ``MAX_LENGTH``, at graphemes; a longer grapheme stays whole."""
    if end - start <= MAX_LENGTH:
        yield start, end
        return
    begin = last = start
    for match in _GRAPHEME.finditer(text, start, end):
        if match.end() - begin > MAX_LENGTH and last > begin:
            yield begin, last
            begin = last
        last = match.end()
    yield begin, end
