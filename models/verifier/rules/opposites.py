"""Words that exclude each other: opposites, and members of small closed sets such as meals and directions.

Vectors of such words are near, because they stand in the same sentences. The list is for English, written by hand, and
short: words of calls, contracts and tickets that rarely mean anything else. Converses (buy and sell) are of one event,
and words with several uses (new, good, last) stand in texts of any kind: both are left out.
"""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final, NamedTuple, TypeAlias

from models.verifier.rules.polarity import is_negated
from models.verifier.rules.quantities.types import Word, words

# A line is a set: its sides, apart by "/", exclude each other; words of one side do not. A word stands for its form
# with "s" too.
_LINES: Final = """
able / unable
accept accepted agree agreed approve approved / reject rejected decline declined refuse refused deny denied disagree
accurate / inaccurate
activate activated / deactivate deactivated
active / inactive
add added adding / remove removed removing delete deleted deleting
alive / dead
allow allowed permit permitted / forbid forbidden prohibit prohibited ban banned
always / rarely seldom
ancient / modern
arrive arrived arrival / depart departed departure
artificial / natural
ascending / descending
attach attached / detach detached
available / unavailable
awake / asleep
best / worst
better improve improved / worse worsen worsened
big large huge / small tiny
billing / shipping
blue / red / green / yellow / black / white / brown / grey gray / pink / purple / orange
boy / girl
breakfast / lunch / dinner supper
brother / sister
cheap cheaper cheapest inexpensive / expensive pricey costly / moderate moderately
clean / dirty filthy
comfortable / uncomfortable
compatible / incompatible
complete / incomplete
connect connected / disconnect disconnected
correct / incorrect
damaged broken / intact undamaged
dark / bright
daughter / son
debit / credit
decrypt / encrypt
deep / shallow
direct / indirect
domestic / international
download downloaded / upload uploaded
downgrade downgraded / upgrade upgraded
early earlier / late later
easy / difficult
enable enabled enabling / disable disabled disabling
encourage / discourage
exclude excluded excludes / include included includes
expand / shrink
export exported / import imported
extend extended / shorten shortened
external / internal
fail failed failure / succeed succeeded success successful
fast faster quick quicker quickly / slow slower slowly
father / mother
forget forgot forgotten / remember remembered
formal / informal
fresh / stale rotten
friendly polite helpful / unfriendly rude impolite unhelpful
guilty / innocent
happy satisfied pleased / unhappy dissatisfied disappointed
healthy / sick
high higher highest / low lower lowest
hire hired / fire fired dismiss dismissed
horizontal / vertical
hot warm / cold
husband / wife
inbound / outbound
increase increased increasing rise rose risen / decrease decreased decreasing fall fell fallen reduce reduced lowered
indoor indoors inside / outdoor outdoors outside
install installed / uninstall uninstalled
junior / senior
lawful legal / unlawful illegal
lazy / diligent
lock locked / unlock unlocked
longer longest / shorter shortest
loose / tight
loud noisy / quiet silent
majority / minority
male / female
mandatory compulsory obligatory / optional voluntary
married / unmarried divorced
maximum / minimum
merge merged / split
mutual / unilateral
narrow / wide
negative / positive
north northern / south southern / east eastern / west western
obey / disobey
offline / online
open opened / closed shut
older / younger
opens opening / closes closing
oral verbal / written
parallel / sequential
permanent permanently / temporary temporarily
personal / corporate
physical / virtual
possible / impossible
private / public
profit / loss
raw / cooked
regular / irregular
relevant / irrelevant
reliable / unreliable
reversible / irreversible
rich wealthy / poor
rough / smooth
rural / urban
safe / unsafe dangerous
similar / dissimilar
single / double
small / medium / large
spring / summer / autumn / winter
stable / unstable
start started begin began begun / stop stopped finish finished
strong stronger / weak weaker
subscribe subscribed / unsubscribe unsubscribed
superior / inferior
supported / unsupported
sweet / sour
synchronous / asynchronous
thick / thin
true / false
useful / useless
valid / invalid expired
weekday / weekend
wet / dry
willing / unwilling reluctant
window / aisle
yesterday / today / tomorrow
"""
# The words of all sides of all sets.
SETS: Final = tuple(tuple(tuple(side.split()) for side in line.split("/")) for line in _LINES.strip().splitlines())
# Denials of the very next word. "At least" and "more or less" deny nothing.
_LESSENED: Final = re.compile(r"\b(?:(?<!more or )less|(?<!at )least|far from|anything but)\s+$", re.IGNORECASE)
# A phrase is compared with many texts.
_REMEMBERED: Final = 1024
# The number of a set, and that of one of its sides.
_Side: TypeAlias = tuple[int, int]


class Opposites(NamedTuple):
    """A word of a phrase, and one of a text that excludes it, as they stand there."""

    of_phrase: str
    of_text: str


def opposites(phrase: str, text: str, start: int = 0, end: int | None = None) -> tuple[Opposites, ...]:
    """Find words of a phrase with an opposite between two code points of a text that lacks the words themselves.

    A denied word counts as its opposite: neither ``not cheap`` nor ``less cheap`` excludes ``expensive``.

    >>> opposites("a cheap hotel", "We want an expensive hotel.")
    (Opposites(of_phrase='cheap', of_text='expensive'),)
    >>> opposites("a cheap hotel", "It is not expensive."), opposites("a cheap hotel", "Expensive, or a cheap one?")
    ((), ())
    """
    end = len(text) if end is None else end
    theirs = _sides(text)
    said = {side for side, _ in theirs}
    found = [
        Opposites(ours.text, other.text)
        for side, ours in _sides(phrase)
        if side not in said
        for other_side, other in theirs
        if other_side[0] == side[0]
        and start <= other.start
        and other.end <= end
        and _is_denied(phrase, ours) == _is_denied(text, other)
    ]
    return tuple(dict.fromkeys(found))


def _is_denied(text: str, word: Word) -> bool:
    """True if a text denies a word, whose own form (unable, refused) does not count, or lessens it, but not both."""
    neutral = "x" * (word.end - word.start)
    is_lessened = _LESSENED.search(text[: word.start]) is not None
    return is_lessened != is_negated(text[: word.start] + neutral + text[word.end :], word.start, word.end)


@lru_cache(_REMEMBERED)
def _sides(text: str) -> tuple[tuple[_Side, Word], ...]:
    """The sides that the words of a text are on."""
    return tuple((side, word) for word in words(text) for side in _sides_of_words().get(word.text, ()))


@cache
def _sides_of_words() -> Mapping[str, frozenset[_Side]]:
    found: dict[str, set[_Side]] = {}
    for number, sides in enumerate(SETS):
        for of_set, side in enumerate(sides):
            for word in side:
                for form in (word, f"{word}s"):
                    found.setdefault(form, set()).add((number, of_set))
    return {form: frozenset(sides) for form, sides in found.items()}
