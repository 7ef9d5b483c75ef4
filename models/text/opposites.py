"""Words that exclude each other: opposites, and members of small closed sets such as meals and directions.

Vectors of such words are near, because they stand in the same sentences. The list is for English, written by hand, and
short: words of calls, contracts and tickets whose opposite is the same in nearly every sentence.
"""

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final, NamedTuple, TypeAlias

from models.text.polarity import is_negated
from models.text.quantities.words import Word, words
from models.text.stemming import stems

# A line is a set: its sides, apart by "/", exclude each other; words of one side do not.
_LINES: Final = """
accept accepted agree approve approved grant granted / reject decline refuse deny denied disagree
able / unable
above / below
active activate activated / inactive deactivate deactivated suspended
add added / remove delete
admit / deny
alive / dead
allow permit permitted / forbid forbidden prohibit ban
alone / together
always / rarely seldom
ancient / modern
arrive arrival arriving inbound / depart departure departing outbound
artificial / natural
ascending / descending
attach / detach
awake / asleep
best / worst
better improve / worse worsen deteriorate
big large huge / small little tiny
billing / shipping
blue / red / green / yellow / black / white / brown / grey gray / pink / purple / orange
borrow / lend lent
boy / girl
breakfast / lunch / dinner supper
breakable fragile / unbreakable sturdy
brother / sister
build built / demolish destroy
buy bought purchase / sell sold sale
cheap inexpensive affordable budget / expensive pricey costly upscale / moderate moderately
clean / dirty filthy
clear / vague unclear
comfortable comfy / uncomfortable
common frequent / rare
compatible / incompatible
complete completed / incomplete unfinished
confirm confirmed / cancel cancelled canceled
connect connected / disconnect disconnected
correct accurate / incorrect wrong inaccurate
damaged broken / intact undamaged
dark / bright
daughter / son
debit / credit
deep / shallow
deposit / withdraw withdrawal
direct / indirect
domestic / international
double / single
early / late delayed
easy simple / difficult hard complicated
economy / business
empty vacant / full occupied
enable enabled / disable disabled
encrypt / decrypt
enter entry entrance / exit
exclude excluding exclusive / include including inclusive
expand / shrink
export / import
extend extended / shorten shortened
external / internal
fail failed failure unsuccessful / succeed success successful pass passed
fast quick quickly rapid / slow slowly
fat / thin
father / mother
fewer less / more
find found / lose lost losing
first / last
fix fixed repair repaired / break broke
fixed / variable
forget forgot forgotten / remember
formal / informal
free / paid
fresh / stale rotten
friend / enemy
friendly polite kind helpful / unfriendly rude impolite unhelpful
gain profit / loss
good great excellent / bad poor terrible awful
guilty / innocent
happy satisfied pleased / unhappy dissatisfied disappointed
healthy / sick ill
heavy / light
hide hidden / show visible
high higher highest / low lower lowest
hire hired / fire fired dismiss dismissed
horizontal / vertical
hot warm / cold cool
husband / wife
increase rise rose risen raise grow grew / decrease fall fell fallen drop reduce lower cut
indoor indoors inside / outdoor outdoors outside
inferior / superior
install installed / uninstall uninstalled
joint / several separate
lazy / diligent
legal lawful / illegal unlawful
like love / dislike hate
literate / illiterate
loose / tight
lock locked / unlock unlocked
long longer longest / short shorter shortest
loud noisy / quiet silent
major / minor
majority / minority
male man men / female woman women
married / unmarried divorced
maximum most / minimum least
merge / split
mandatory compulsory obligatory required / optional voluntary
mortal / immortal
mutual / unilateral
narrow / wide
negative / positive
new newer newest / old older oldest
north northern / south southern / east eastern / west western
obey / disobey
odd / even
offline / online
open opened reopen / close closed shut
optimist optimistic / pessimist pessimistic
oral verbal / written
parallel / sequential
patient / impatient
permanent permanently / temporary temporarily
personal / corporate
physical / virtual digital
plural / singular
possible / impossible
present / absent
private / public
push / pull
raw / cooked
reach / miss missed
read / write
receive received / send sent
recent / outdated
regular / irregular
relevant / irrelevant
reliable / unreliable
reveal disclose / conceal
reversible / irreversible
rich wealthy / poor
rough / smooth
rural / urban
safe / unsafe dangerous
sad / happy
same identical / different
senior / junior
sharp / blunt
short / tall
similar / dissimilar
small / medium / large
smoke smoking / nonsmoking
spring / summer / autumn / winter
stable / unstable
start started begin began begun / stop stopped end ended finish finished
strong stronger / weak weaker
subscribe / unsubscribe
supported / unsupported
sync synchronous / async asynchronous
thick / thin
top / bottom
true / false
trust / distrust mistrust
up / down
upgrade upgraded / downgrade downgraded
upload / download
upper / lower
urgent / unimportant
used / unused
useful / useless
valid / invalid expired
victory win won / defeat lose lost
weekday / weekend
wet / dry
willing / unwilling reluctant
window / aisle
young / old
"""
# The words of all sides of all sets.
SETS: Final = tuple(tuple(tuple(side.split()) for side in line.split("/")) for line in _LINES.strip().splitlines())
# A phrase is compared with many texts.
_REMEMBERED: Final = 1024
# The number of a set, and that of one of its sides.
_Side: TypeAlias = tuple[int, int]


class Opposites(NamedTuple):
    """A word of a phrase, and one of a text that excludes it, as they stand there."""

    of_phrase: str
    of_text: str


def opposites(phrase: str, text: str) -> tuple[Opposites, ...]:
    """Words of a phrase whose opposite stands in a text where they do not stand themselves.

    One that is denied excludes nothing: not cheap is expensive.

    >>> opposites("a cheap hotel", "We want an expensive hotel.")
    (Opposites(of_phrase='cheap', of_text='expensive'),)
    >>> opposites("a cheap hotel", "It is not expensive."), opposites("a cheap hotel", "Expensive, or a cheap one?")
    ((), ())
    """
    theirs = _sides(text)
    found = [
        Opposites(ours.text, other.text)
        for side, ours in _sides(phrase).items()
        if side not in theirs
        for other_side, other in theirs.items()
        if other_side[0] == side[0]
        and is_negated(phrase, ours.start, ours.end) == is_negated(text, other.start, other.end)
    ]
    return tuple(dict.fromkeys(found))


@lru_cache(_REMEMBERED)
def _sides(text: str) -> Mapping[_Side, Word]:
    """The sides that the words of a text are on, each with the first such word."""
    spoken = words(text)
    found: dict[_Side, Word] = {}
    for word, stem in zip(spoken, stems([word.text for word in spoken], "english"), strict=True):
        for side in _sides_of_stems().get(stem, ()):
            found.setdefault(side, word)
    return found


@cache
def _sides_of_stems() -> Mapping[str, frozenset[_Side]]:
    found: dict[str, set[_Side]] = {}
    for number, sides in enumerate(SETS):
        for of_set, side in enumerate(sides):
            for stem in stems(side, "english"):
                found.setdefault(stem, set()).add((number, of_set))
    return {stem: frozenset(sides) for stem, sides in found.items()}
