"""Rules for who does what to whom: subject and object exchanged, directions reversed, active and passive."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from research.training.changes.inflections import Form, inflect, like, readings, with_articles
from research.training.changes.sentence import HAVING, MODALS, PREPOSITIONS, Change, Sentence
from research.training.changes.word_lists import word_set

_OBJECTIVE: Final = {"i": "me", "we": "us", "he": "him", "she": "her", "they": "them", "you": "you"}
_SUBJECTIVE: Final = {object_: subject for subject, object_ in _OBJECTIVE.items()}
_OWNERS: Final = word_set("the a an my our your his their this each either every another")
_BODIES: Final = word_set(
    "company bank agent agency court government party supplier provider insurer carrier buyer seller "
    "contractor team client server user plugin module committee council club union airline hotel store "
    "licensee licensor"
)
_BY: Final = re.compile(
    r"\b(?:I|[Hh]e|[Ss]he|[Ww]e|[Tt]hey) ((?:was|were) ([a-z]+) by) ((?:my |the |our |a |an )?[A-Za-z]{3,})"
)
_MUTUAL: Final = word_set("be meet marry resemble match equal face join accompany let want need like thank")
_HAPPENED: Final = word_set("become remain seem feel last cost die be have include contain mean join")
_WAY: Final = re.compile(
    r"\bfrom ((?:[A-Z][\w-]+|[a-z]+ [A-Z]\w+)(?: [A-Z][\w-]+)*) to ([A-Z][\w-]+(?: [A-Z][\w-]+)*)(?![\w-])"
)
_INSTEAD: Final = re.compile(
    r"\b((?:a |the |my |our )?[a-z]{3,}) (instead of|rather than) "
    r"((?:a |the |my |our )?[a-z]{3,})(?=[.,!]?$| (?:in|on|at|for|by|when|to)\b)"
)
_BEFORE_CLAUSES: Final = word_set(", . and but that because so when if")
_GIVING: Final = word_set("give send tell show pay offer lend sell ask owe charge bring promise teach refund")
_THAN: Final = re.compile(
    r"^((?:[Tt]he |[Mm]y |[Oo]ur |[Aa]n? )?\w+(?: \w+)?) (is|are|was|were) (more \w+|\w+er|less \w+) than "
    r"((?:the |my |our |an? )?\w+(?: \w+)?)(?=[.!]?$)"
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase: its first and last token, its words, and whether it names somebody."""

    first: int
    last: int
    words: str
    somebody: bool
    pronoun: bool = False


def exchanged(sentence: Sentence) -> Iterator[Change]:
    """Copies in which somebody does to another what the other does to them, and directions are reversed."""
    yield from _exchanged_people(sentence)
    for match in _WAY.finditer(sentence.text):
        words = f"from {match[2]} to {match[1]}"
        yield Change("role", f"{sentence.text[: match.start()]}{words}{sentence.text[match.end() :]}")
    for match in _INSTEAD.finditer(sentence.text):
        yield Change(
            "role", f"{sentence.text[: match.start()]}{match[3]} {match[2]} {match[1]}{sentence.text[match.end() :]}"
        )
    compared = _THAN.match(sentence.text)
    if compared and compared[4].lower() not in _OBJECTIVE | _SUBJECTIVE:
        than = f"{compared[2]} {compared[3]} than {_inside(compared[1])}{sentence.text[compared.end() :]}"
        yield Change("role", f"{like(sentence.text, compared[4])} {than}")


def voice(sentence: Sentence) -> Iterator[Change]:
    """An active clause as a passive one, and back."""
    for verb in range(1, len(sentence.tokens) - 1):
        reading, subject = sentence.part(verb), _before(sentence, verb)
        if reading is None or reading[0] != "v" or subject is None or subject.first != 0:
            continue
        text = _passive(sentence, verb, reading[1], reading[2], subject)
        if text is not None:
            yield Change("same", text)


def _passive(sentence: Sentence, verb: int, base: str, form: Form, subject: Phrase) -> str | None:
    target = _after(sentence, verb)
    if form != "past" or base in _HAPPENED or target is None or target.pronoun:
        return None
    rest = sentence.text[sentence.tokens[target.last].end :]
    if not re.fullmatch(r"(?: (?:in|on|at|from|after|before|for|during) [^,.;]+)?[.!]?", rest):
        return None
    plural = any(form == "s" for _, form in readings(sentence.low(target.last))) and not sentence.low(
        target.last
    ).endswith("ss")
    agent = _case(subject, _OBJECTIVE)
    passive = (
        f"{_opened(target.words)} {'were' if plural else 'was'} {inflect(base, 'participle')} by {_inside(agent)}{rest}"
    )
    return passive if sentence.text[0].isupper() else passive[0].lower() + passive[1:]


def _exchanged_people(sentence: Sentence) -> Iterator[Change]:
    for verb in range(1, len(sentence.tokens) - 1):
        reading = sentence.part(verb)
        if reading is None or reading[0] != "v" or reading[1] in _MUTUAL:
            continue
        helper = (
            verb - 1 if sentence.low(verb - 1) in MODALS | {"don't", "didn't", "did", "have", "has", "had"} else verb
        )
        asked = sentence.low(verb - 2) in MODALS | {"did", "do"} and sentence.low(verb - 1) in _OBJECTIVE
        subject, target = _before(sentence, helper), _after(sentence, verb)
        if subject is None or target is None or not (subject.somebody and target.somebody):
            continue
        if helper == verb and reading[2] in {"base", "s"} and not asked and not (subject.pronoun and target.pronoun):
            continue  # the verb would have to agree with its new subject
        if (
            {subject.words.lower(), target.words.lower()} & {"he", "she", "him", "her"}
            and reading[2] != "past"
            and helper == verb
        ):
            continue
        yield Change("role", _swap(sentence, subject, target))
    for match in _BY.finditer(sentence.text):
        base = next((base for base, form in readings(match[2].lower()) if form == "participle"), None)
        if base is not None and base not in {"bear", "follow"}:
            yield Change(
                "role",
                f"{sentence.text[: match.start(1)]}{inflect(base, 'past')} {match[3]}{sentence.text[match.end() :]}",
            )


def _swap(sentence: Sentence, subject: Phrase, target: Phrase) -> str:
    tokens, text = sentence.tokens, sentence.text
    start, end = tokens[subject.first].start, tokens[target.last].end
    middle = text[tokens[subject.last].end : tokens[target.first].start]
    new_subject, new_target = _case(target, _SUBJECTIVE), _case(subject, _OBJECTIVE)
    new_subject = _opened(new_subject) if start == 0 and text[0].isupper() else new_subject
    swapped = f"{text[:start]}{new_subject}{middle}{_inside(new_target)}{text[end:]}"
    return with_articles(swapped)


def _case(phrase: Phrase, cases: dict[str, str]) -> str:
    """A noun phrase as subject or as object."""
    word = cases.get(phrase.words.lower(), phrase.words) if phrase.pronoun else phrase.words
    return "I" if word == "i" and phrase.words in {"me", "Me"} else word


def _before(sentence: Sentence, index: int) -> Phrase | None:
    """The noun phrase that ends before a token and begins the text or a clause."""
    word = sentence.low(index - 1)
    if word in _OBJECTIVE:
        return Phrase(index - 1, index - 1, sentence.tokens[index - 1].text, True, True)
    for first in range(index - 1, max(index - 4, -1), -1):
        before = sentence.low(first - 1)
        if before and before not in _BEFORE_CLAUSES:
            continue
        if (phrase := _phrase(sentence, first, index - 1)) is not None:
            return phrase
    return None


def _after(sentence: Sentence, index: int) -> Phrase | None:
    """The noun phrase that begins after a token and ends before a preposition, a conjunction or the end."""
    word, after = sentence.low(index + 1), sentence.low(index + 2)
    ends = not after.isalpha() or after in PREPOSITIONS | word_set("and but or because that when if again back twice")
    if word in _SUBJECTIVE:
        gives = (sentence.part(index) or ("", "", ""))[1] in _GIVING and word != "her"
        return Phrase(index + 1, index + 1, sentence.tokens[index + 1].text, True, True) if ends or gives else None
    for last in range(index + 1, min(index + 5, len(sentence.tokens))):
        after = sentence.low(last + 1)
        if after.isalnum() and after not in PREPOSITIONS | {"and", "but", "because"}:
            continue
        return _phrase(sentence, index + 1, last) if after not in {"of", "and", "'", "-"} else None
    return None


def _phrase(sentence: Sentence, first: int, last: int) -> Phrase | None:
    tokens = sentence.tokens[first : last + 1]
    words = sentence.text[tokens[0].start : tokens[-1].end]
    if not re.fullmatch(r"[A-Za-z]+(?: [A-Za-z-]+)*", words) or {t.low for t in tokens} & (HAVING | MODALS):
        return None
    named = (
        all(token.text[0].isupper() and token.low not in _OWNERS for token in tokens)
        and tokens[0].low not in _OBJECTIVE
    )
    if named:
        return Phrase(first, last, words, first > 0)
    if tokens[0].low not in _OWNERS or len(tokens) == 1:
        return None
    bases = [base for base, _ in readings(tokens[-1].low)]
    people = sentence.wordnet is not None and any(sentence.wordnet.person(base) for base in bases)
    return Phrase(first, last, words, people or any(base in _BODIES for base in bases))


def _opened(words: str) -> str:
    return words[0].upper() + words[1:]


def _inside(words: str) -> str:
    """A noun phrase as it is written within a sentence."""
    head = words.split()[0].lower()
    return head + words[len(head) :] if head in _OWNERS or head in _SUBJECTIVE else words
