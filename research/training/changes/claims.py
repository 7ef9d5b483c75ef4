"""Rules for how far a claim goes: may or must, all or some, always or on a condition."""

import re
from collections.abc import Iterator
from typing import Final

from research.training.changes.inflections import inflect, like, with_articles
from research.training.changes.lexicon import CONDITIONS
from research.training.changes.sentence import Change, Sentence
from research.training.changes.word_lists import word_set

_MODALS: Final = {
    "must": "may", "shall": "may", "may": "must", "will": "might", "might": "will", "can": "must", "should": "might",
    "have to": "may", "has to": "may", "need to": "can", "needs to": "can", "required to": "allowed to",
    "allowed to": "required to", "is": "might be", "are": "might be",
    "was": "might have been", "were": "might have been",
    "permitted to": "obliged to", "obliged to": "free to", "could": "will",
}  # fmt: skip
_BEING: Final = {"is", "are", "was", "were"}
_VAGUE: Final = re.compile(r"\b(?:there|what|which|it|how|might|that|this|who)$", re.IGNORECASE)
_HELPED: Final = re.compile(r"(?:\bnot|n't|\bdo|\bdid|\bto|\bmay|\bwill|\bmight|\bwould)$", re.IGNORECASE)
_NO_CLAIM: Final = r"(?! (?:not|never|no|be able|only|want|like|have|there|you))"
_SCOPES: Final = {
    r"all (?=(?:the|our|my|your|their|these|those) \w)": "only some of ",
    r"all (?=of (?:the|our|my|your|their) \w|other \w|[a-z]+s\b(?<!is)(?<!as)(?<!was)(?<!this))": "only some ",
    r"some (?=[a-z]{3,}s\b)": "no ",
    r"every (?=[a-z])(?!one\b|thing\b|other|time|now|day|year|month|week|hour|night|morning)": "no ",
    r"each (?=[a-z])(?!other|of|time|day|year|month|week)": "only one ",
    r"everyone\b": "hardly anyone",
    r"always\b": "only sometimes",
    r"most (?=(?:of the|of our|of my) \w|[a-z]+s of\b|(?:people|users|customers)\b)": "only a few ",
    r"many (?=[a-z]+s\b)": "few ",
    r"(?<=[a-z] )(?<!the )(?<!not )(?<!if )(?<!, )only (?=[a-z])(?!one|if|when|after|once|some|until|to\b)": "also ",
    r"\b(?:the entire|the whole) (?=[a-z])": "only part of the ",
    r"everything\b": "hardly anything",
    r"at all times\b": "only at certain times",
    r"at any time\b": "only at certain times",
    r"throughout (?=the\b)": "only in parts of ",
    r"(?:several|various|numerous) (?=[a-z]+s\b)": "hardly any ",
    r"both (?=(?:the|my|our|of)\b)": "only one of ",
    r"(?:^|(?<=, )|(?<=that ))(?=(?:the|my|our|your|their|these|those) [a-z]{3,}s "
    r"(?:are|were|have|can|will|must|may|shall|do|did|need)\b)": "only a few of ",
    r"(?<=is )also (?=[a-z])": "only ",
    r"(?<=are )also (?=[a-z])": "only ",
}
_MANY: Final = re.compile("all|some|most|many", re.IGNORECASE)
_BEFORE_MANY: Final = re.compile(
    r"\b(?:how|so|too|as|at|after|of|not|that is|that's|is|for|in|one of|the|with|are)$", re.IGNORECASE
)
_ENDING: Final = re.compile(
    r",? (?P<word>if|unless|provided that|as long as|only after|except when) (?P<rest>[^,.;?!]{8,})(?=[.!]?$)",
    re.IGNORECASE,
)
_OPENING: Final = re.compile(r"^(?P<word>If|Unless|Provided that|As long as) (?P<rest>[^,.;?!]{6,}), (?:then )?(?=\w)")
_WHETHER: Final = re.compile(
    r"\b(?:know|ask|asked|see|wonder|wondering|check|sure|tell|me|us|out|as|even|only|verify|great)$", re.I
)


def modality(sentence: Sentence) -> Iterator[Change]:
    """Copies in which what must be may be, what will be might be, and what is wished was done."""
    if sentence.question:
        return
    for word, other in _MODALS.items():
        for match in re.finditer(rf"(?<= ){word}\b(?= [a-z]+){_NO_CLAIM}", sentence.text):
            before = sentence.text[: match.start()].rstrip()
            if not (_HELPED.search(before) or (word in _BEING and _VAGUE.search(before))):
                yield Change("modality", f"{sentence.text[: match.start()]}{other}{sentence.text[match.end() :]}")
    yield from _done(sentence)


def _done(sentence: Sentence) -> Iterator[Change]:
    """*I want to book it* is not *I booked it*."""
    for match in re.finditer(
        r"\b(I|[Ww]e)(?: want to|(?: would|'d) (?:like|love) to| need to) ([a-z]+)\b", sentence.text
    ):
        if match[2] not in {"be", "know", "have", "do", "see", "say", "ask"}:
            words = f"{match[1]} already {inflect(match[2], 'past')}"
            yield Change("modality", f"{sentence.text[: match.start()]}{words}{sentence.text[match.end() :]}")
    if re.search(r"\b(?:ago|yesterday|last|when|was|were)\b", sentence.text):
        return
    for index in range(1, len(sentence.tokens)):
        reading = sentence.part(index) if sentence.low(index - 1) in {"i", "we"} else None
        if reading and reading[0] == "v" and reading[2] == "past":
            wish = sentence.chance.choice(("plan", "hope", "want"))
            yield Change("modality", sentence.put(index, index, f"{wish} to {reading[1]}"))


def scope(sentence: Sentence) -> Iterator[Change]:
    """Copies that speak of all instead of some, of one instead of each, of this alone instead of this as well."""
    for word, other in _SCOPES.items():
        for match in re.finditer(rf"\b{word}", sentence.text, re.IGNORECASE):
            before, after = sentence.text[: match.start()], sentence.text[match.end() :]
            if not (_MANY.match(match[0]) and _BEFORE_MANY.search(before.rstrip())):
                yield Change("scope", _joined(before, like(match[0] or after, other), after))


def _joined(before: str, words: str, after: str) -> str:
    """A text with words put in; what no longer begins it has no capital."""
    opened = not before and words.endswith("of ") and after[:1].isupper()
    after = after[0].lower() + after[1:] if opened else after
    return with_articles(f"{before}{words}{after}".replace("one of of", "one of"))


def conditions(sentence: Sentence) -> Iterator[Change]:
    """Copies with a condition that is not there, without the one that is, and with its contrary."""
    ending, opening = _ENDING.search(sentence.text), _OPENING.search(sentence.text)
    if ending and not _WHETHER.search(sentence.text[: ending.start()]):
        head, tail = sentence.text[: ending.start()], sentence.text[ending.end() :]
        yield Change("condition", head + tail)
        contrary = {"if": "unless", "unless": "if"}.get(ending["word"].lower())
        if contrary:
            yield Change("condition", f"{head} {contrary} {ending['rest']}{tail}")
    elif opening:
        rest = sentence.text[opening.end() :]
        yield Change("condition", rest[0].upper() + rest[1:])
        contrary = {"If": "Unless", "Unless": "If"}.get(opening["word"])
        if contrary:
            yield Change("condition", contrary + sentence.text[len(opening["word"]) :])
    elif _plain(sentence):
        condition = sentence.chance.choice(CONDITIONS)
        body = sentence.text.rstrip(".!")
        yield Change("condition", f"{body} {condition}{sentence.text[len(body) :]}")


def _plain(sentence: Sentence) -> bool:
    """True if a sentence of one clause states something, so that a condition at its end is one of the whole."""
    words = {token.low for token in sentence.tokens}
    joined = words & word_set('if unless because but which who when whether until as ; : ? ( "')
    ended = re.fullmatch(r"[^.!?]{15,160}[.!]?", sentence.text)
    return bool(ended) and not joined and not sentence.question and sentence.stated
