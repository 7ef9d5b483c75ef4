"""Rules for single words: opposites, other things, other actions, and words of the same meaning."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, Literal

from research.training.changes.inflections import Form, inflect, like, with_articles
from research.training.changes.lexicon import ACTIONS, EXCHANGED, OBJECTS, OPPOSITES, REWORDED, SYNONYMS, UNSURE
from research.training.changes.sentence import DETERMINERS, PREPOSITIONS, Change, Sentence
from research.training.changes.word_lists import any_of, word_set
from research.training.changes.wordnet import Part
from research.training.contrast_data import Kind

_SCOPED: Final = word_set("all some every each many most few much more less only always never once here there")
_FAMILY: Final = 8  # co-hyponyms: where there are more, they are too unlike
_PARTICLES: Final = word_set("up out off in on down over away back for with to")
_AUXILIARIES: Final = word_set(
    "be is are was were have has had do does did can could will would should may might must get make take"
)
_AFTER_NOUNS: Final = PREPOSITIONS | _AUXILIARIES | word_set("and or that which who when if")
_PHRASAL: Final = word_set(
    "than turn turns turned turning look looked set give gave break broke sign take took let put"
)
_KNOWN: Final = _SCOPED | UNSURE | _AUXILIARIES

_EXCHANGE: Final = any_of(EXCHANGED)
_REWORD: Final = any_of(REWORDED)


def opposites(sentence: Sentence) -> Iterator[Change]:
    """Copies in which one word or phrase is its opposite."""
    for index, part, base, form in _words(sentence):
        compound = part == "n" and (sentence.part(index + 1) or ("",))[0] == "n"
        if compound or sentence.low(index - 1) in _PHRASAL:
            continue
        others: Iterable[str] = [OPPOSITES[part][base]] if base in OPPOSITES[part] else []
        if not others and sentence.wordnet is not None and part != "n" and base not in _KNOWN:
            frequent = (
                word for word in sentence.wordnet.antonyms(base, part) if sentence.wordnet.count(word, part) > 2
            )
            others = islice(frequent, 1)
        for other in others:
            yield Change("antonym", sentence.put(index, index, inflect(other, form)))
    yield from _phrases(sentence, "antonym", EXCHANGED, _EXCHANGE)


def other_things(sentence: Sentence) -> Iterator[Change]:
    """Copies in which one noun is another of its kind."""
    for index, part, base, form in _words(sentence):
        if part == "n" and _is_head(sentence, index):
            others = OBJECTS.get(base, [])
            if not others and sentence.wordnet is not None and base not in UNSURE:
                others = sentence.wordnet.siblings(base, "n")
            if len(others) <= _FAMILY:
                yield from _one(sentence, "object", index, [inflect(other, form) for other in others])


def other_actions(sentence: Sentence) -> Iterator[Change]:
    """Copies in which one verb is another that the same object can have."""
    for index, part, base, form in _words(sentence):
        if part == "v" and base in ACTIONS and _has_object(sentence, index):
            yield from _one(sentence, "action", index, [inflect(other, form) for other in ACTIONS[base]])


def synonyms(sentence: Sentence) -> Iterator[Change]:
    """Copies in which one word or phrase is another of the same meaning."""
    for index, part, base, form in _words(sentence):
        known = SYNONYMS[part].get(base)
        if base in _AUXILIARIES or (part == "v" and sentence.low(index + 1) in _PARTICLES):
            continue
        if known is None and sentence.wordnet is not None and base not in UNSURE:
            others = sentence.wordnet.synonyms(base, part)
            known = [word for word in others if sentence.wordnet.count(word, part) > 4 and word.isalpha()]
        yield from _one(sentence, "same", index, [inflect(other, form) for other in known or ()])
    yield from _phrases(sentence, "same", REWORDED, _REWORD)


def _words(sentence: Sentence) -> Iterator[tuple[int, Part, str, Form]]:
    """The words whose part of speech is known, with their basic form and their form."""
    for index in range(len(sentence.tokens)):
        if sentence.low(index) not in PREPOSITIONS and (reading := sentence.part(index)) is not None:
            yield index, *reading


def _one(sentence: Sentence, kind: Kind | Literal["same"], index: int, words: list[str]) -> Iterator[Change]:
    there = {token.low for token in sentence.tokens}
    if words := [word for word in words if word not in there]:
        yield Change(kind, sentence.put(index, index, sentence.chance.choice(words)))


def _phrases(
    sentence: Sentence, kind: Kind | Literal["same"], others: Mapping[str, str], phrases: re.Pattern[str]
) -> Iterator[Change]:
    """A copy for each place of a phrase that has another in its place."""
    for match in phrases.finditer(sentence.text):
        other = like(match[0], others[match[0].lower()])
        yield Change(kind, with_articles(f"{sentence.text[: match.start()]}{other}{sentence.text[match.end() :]}"))


def _has_object(sentence: Sentence, verb: int) -> bool:
    after, reading = sentence.low(verb + 1), sentence.part(verb + 1)
    noun = reading is not None and reading[0] in {"n", "a"}
    return noun or after.isdigit() or after in DETERMINERS | {"it", "them", "him", "me", "us"}


def _is_head(sentence: Sentence, index: int) -> bool:
    """True if a noun ends its noun phrase, so that it names the thing."""
    after, before = sentence.low(index + 1), sentence.low(index - 1)
    ends = not after.isalnum() or after in _AFTER_NOUNS
    return ends and after != "-" and before.isalpha()
