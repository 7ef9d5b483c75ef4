"""The unit splitter. Span lengths are counted in units, independent of any backbone.

A unit is a word as Unicode's UAX #29 delimits it, or one grapheme: punctuation, symbols, and letters of scripts
without spaces (Chinese, Japanese, Thai) are units by themselves. White space belongs to no unit, unless marks make
it part of a visible grapheme (a space with an acute accent on it). No unit starts or ends inside a grapheme, and a
word of more than ``MAX_LENGTH`` code points is cut into several.

Since ``text.v2``, what a sign joins are several words: ``plan.Thanks``, ``reason_cancel``,
``plan's``, ``l'abonnement``. One word are still ``can't``, ``O'Brien``, ``3.14``, initials such as ``e.g`` and
``U.S.A``, Hebrew acronyms and Catalan ``col·lecció``; a zero-width space within a word is passed over.
"""

from collections.abc import Iterator
from itertools import chain
from operator import methodcaller
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import regex
from jaxtyping import Int

from models.interruption import checked
from models.types import CharSpans

# Versions of how a text is read: its units, its borders, its words, and the characters that encoders see. A collection
# keeps the version it was made with, so that what it holds and what is asked of it are read alike.
# text.v1: words as UAX #29 delimits them, so that "plan.Thanks" is one; every line break is a border; encoders see the
#   text as it is.
# text.v2: signs end words but for apostrophes within and initials; breaks that only wrap a line are spaces; encoders
#   see compatibility forms (ligatures, full width, mathematical letters) as the characters they stand for.
TextForm: TypeAlias = Literal["text.v1", "text.v2"]
OLDEST: Final[TextForm] = "text.v1"
NEWEST: Final[TextForm] = "text.v2"

VERSION = "units.v1"  # in the fingerprints of encoders, from when these alone said how texts are split
MAX_LENGTH = 64
# Units between two checkpoints: some ten milliseconds.
_AT_ONCE = 16_384


def _words(form: TextForm) -> str:
    """The expression of a word: UAX #29, rules WB3 to WB13, as one expression.

    Everything that only extends a character (WB4) is included, by both the word and the grapheme definition, so that a
    word never ends inside a grapheme.
    """
    is_new = form != "text.v1"
    invisible = r"\u200b" if is_new else ""
    extend = rf"[\p{{WB=Extend}}\p{{WB=Format}}\p{{WB=ZWJ}}\p{{GCB=Extend}}\p{{GCB=SpacingMark}}{invisible}]*+"
    latin = rf"\p{{WB=ALetter}}{extend}"  # and all other scripts with words, except Hebrew
    hebrew = rf"\p{{WB=Hebrew_Letter}}{extend}"
    letter = rf"(?:{latin}|{hebrew})"
    digit = rf"\p{{WB=Numeric}}{extend}"
    katakana = rf"\p{{WB=Katakana}}{extend}"
    joiner = (r"[\p{WB=ExtendNumLet}--\u202f]" if is_new else r"\p{WB=ExtendNumLet}") + extend
    single_quote, double_quote = rf"\p{{WB=Single_Quote}}{extend}", rf"\p{{WB=Double_Quote}}{extend}"
    joins_letters = _NEW_JOINS if is_new else r"[\p{WB=MidLetter}\p{WB=MidNumLet}\p{WB=Single_Quote}]"
    joins_digits = r"[\p{WB=MidNum}\p{WB=MidNumLet}\p{WB=Single_Quote}" + (r"\u202f]" if is_new else "]")
    inside_letters, inside_digits = rf"{joins_letters}{extend}(?={letter})", rf"{joins_digits}{extend}(?={digit})"
    letters = (
        rf"(?:{latin}(?:{inside_letters})?"
        rf"|{digit}(?:{inside_digits})?"
        rf"|{hebrew}(?:{inside_letters}|{double_quote}(?={hebrew}))?(?!{single_quote}))"
    )
    last_hebrew = rf"{hebrew}{single_quote}"  # a Hebrew word may end in a single quote, after which nothing joins
    # Letters and Katakana break where they meet, unless joiners (underscores) lie between them.
    run = rf"(?:{letters}++(?:{last_hebrew})?|{last_hebrew}|(?:{katakana})++)"
    joiners = rf"(?:{joiner})++"
    if is_new:
        return rf"{_APART}|{run}|{joiners}"
    joined = rf"(?<!{single_quote}){joiners}"
    return rf"(?:{joiners})?{run}(?:{joined}{run})*+(?:{joined})?|{joiners}"


_APOSTROPHE = "['\u2018\u2019\uff07]"
# Possessives, and the articles and pronouns of French, Italian and Catalan that lose their vowel before another.
_POSSESSIVE = rf"{_APOSTROPHE}[sS](?!\w)"
_ELIDED = (
    r"(?i:[cdjlmnstv]|qu|(?:jus|lors|puis|quel|quoi)qu|(?:a|be|co|da|de|ne|que|su)ll|un)"
    rf"{_APOSTROPHE}(?=(?i:[haeiouyàâäáæéèêëîïíìôöóòœùûüú]))"
)
_APART = rf"(?<=\w){_POSSESSIVE}|(?<!\w){_ELIDED}"
# What joins letters: other apostrophes, full stops between single letters, Hebrew and Catalan signs.
_NEW_JOINS = (
    rf"(?:(?!{_POSSESSIVE}){_APOSTROPHE}|(?<=(?<!\w)\w)[.\u2024\ufe52\uff0e](?=\w(?!\w))"
    r"|(?<=\p{WB=Hebrew_Letter})\u05f4|(?<=[lL])[\u00b7\u2027](?=[lL]))"
)

# ``\X`` counts the regional indicators before a place to pair them: a long run of them would take quadratic time.
# Matches start at even places of a run, where two before a third are a grapheme; ``\X`` reads only the run's end.
_FLAG = r"\p{GCB=Regional_Indicator}{2}(?=\p{GCB=Regional_Indicator})"
# Most words are plain letters before a space; trying these first makes splitting twice as fast.
_UNIT = {
    form: regex.compile(rf"[A-Za-z]++(?= )|{_words(form)}|{_FLAG}|(?!\s)\X", regex.V1) for form in get_args(TextForm)
}
_GRAPHEME = regex.compile(rf"{_FLAG}|\X", regex.V1)
_SPAN = methodcaller("span")


def split(text: str, form: TextForm = NEWEST) -> CharSpans:
    """Character spans of the units of a text, in order, never overlapping.

    >>> text = "Can't pay 3.14 €?Thanks.Bye"
    >>> [text[start:end] for start, end in split(text)]
    ["Can't", 'pay', '3.14', '€', '?', 'Thanks', '.', 'Bye']
    >>> split("").shape
    (0, 2)
    """
    found = checked(map(_SPAN, _UNIT[form].finditer(text)), _AT_ONCE)
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
