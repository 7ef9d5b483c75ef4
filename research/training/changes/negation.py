"""Rules for negation: deny what a sentence says, or say what it denies."""

import re
from collections.abc import Iterator
from typing import Final

from research.training.changes.inflections import inflect, like, readings
from research.training.changes.sentence import DETERMINERS, SUBJECTS, Change, Sentence
from research.training.changes.word_lists import word_set

_DENIED: Final = re.compile(
    r"n't\b|\b(?:not|never|no|none|nobody|nothing|neither|nor|cannot|hardly|without|unless|only|few|little)\b",
    re.IGNORECASE,
)
_AUXILIARIES: Final = word_set("is are was were am can could will would should")
_PERFECT: Final = {"have": "do", "has": "does", "had": "did"}
_SHORT: Final = {
    "i'm": "i'm not", "you're": "you're not", "we're": "we're not", "they're": "they're not", "it's": "it's not",
    "that's": "that's not", "i'll": "i won't", "we'll": "we won't", "you'll": "you won't",
    "it'll": "it won't", "they'll": "they won't",
}  # fmt: skip
_KEPT: Final = word_set("also just already too to so still rather better n't some even well now")
_NOT_ALL: Final = word_set("only to yet sure that even just necessarily always all every enough")
_UNDONE: Final = {"can't": "can", "cannot": "can", "won't": "will", "shan't": "shall"}
_SCOPED: Final = word_set("all every everyone everything some someone something each many most both few")
_WORDS: Final = {
    "never": "always", "always": "never", "nobody": "everybody", "nothing": "everything", "without": "with",
    "none": "all", "everyone": "no one", "no longer": "still", "still": "no longer",
    "not yet": "already", "anymore": "again",
}  # fmt: skip
_AFFIRMED: Final = {
    "any": "some",
    "anything": "something",
    "anyone": "someone",
    "anybody": "somebody",
    "anywhere": "somewhere",
}
_HELD: Final = re.compile(
    r"\b(?:either|neither|nor|until|only|at all|ever|but|much|anymore|yet|any more|sure|because)\b", re.I
)


def denied(sentence: Sentence) -> Iterator[Change]:
    """Copies in which a clause without a negation has one."""
    if (
        sentence.question
        or _DENIED.search(sentence.text)
        or {t.low for t in sentence.tokens} & (_SCOPED | _KEPT - {"to"})
    ):
        return
    for index, token in enumerate(sentence.tokens):
        word, after = token.low, sentence.low(index + 1)
        if after in _KEPT or (index == 0 and word not in _SHORT):
            continue
        words = _denial(sentence, index)
        if words is not None and after.isalpha():
            yield Change("negation", sentence.put(index, index, words))
            if words.startswith(("do", "did")):
                yield Change("negation", sentence.put(index, index, f"never {token.text}"))


def _denial(sentence: Sentence, index: int) -> str | None:
    """A finite verb and its denial."""
    word, before, after = sentence.low(index), sentence.low(index - 1), sentence.low(index + 1)
    if word in _AUXILIARIES:
        return f"{word} not" if word != "can" else "cannot"
    if word in _SHORT:
        return like(sentence.tokens[index].text, _SHORT[word])
    if word in _PERFECT:
        if any(form == "participle" for _, form in readings(after)):
            return f"{word} not"
        return f"{_PERFECT[word]} not have" if before in SUBJECTS else None
    reading = sentence.part(index)
    if reading is None or reading[0] != "v":
        return None
    return _with_do(sentence, index, reading[1], reading[2])


def _with_do(sentence: Sentence, index: int, base: str, form: str) -> str | None:
    before, after = sentence.low(index - 1), sentence.low(index + 1)
    short = "n't" if "'" in sentence.text or sentence.text[:1].islower() else " not"
    helped = sentence.low(index - 2) in word_set("can could will would do did does should may must might")
    if before in {"i", "you", "we", "they"} and form == "base" and not helped:
        return f"do{short} {base}"
    named = before in SUBJECTS or (sentence.part(index - 1) or ("",))[0] == "n" or _name(sentence, index - 1)
    if not named or not (after in DETERMINERS | {"it", "them", "me", "us", "you", "him"} or before in SUBJECTS):
        return None
    if form == "s" and before not in {"i", "you", "we", "they"}:
        return f"does{short} {base}"
    return f"did{short} {base}" if form == "past" and after != "by" else None


def _name(sentence: Sentence, index: int) -> bool:
    return index >= 0 and sentence.tokens[index].text[0].isupper()


def affirmed(sentence: Sentence) -> Iterator[Change]:
    """Copies in which a clause has lost its negation."""
    if sentence.question:
        return
    for index, token in enumerate(sentence.tokens):
        word, after = token.low, sentence.low(index + 1)
        tail = sentence.text[token.end :]
        if after in _NOT_ALL or _HELD.search(tail):
            continue
        if word in _UNDONE:
            yield _affirm(sentence, index, index, _UNDONE[word])
        elif word.endswith("n't"):
            yield from _without_do(sentence, index, index, word[:-3])
        elif word == "not" and sentence.low(index - 1) in _AUXILIARIES | {
            "do",
            "does",
            "did",
            "has",
            "have",
            "had",
            "must",
        }:
            yield from _without_do(sentence, index - 1, index, sentence.low(index - 1))
        elif word == "not" and sentence.low(index - 1) in {"i'm", "it's", "that's", "we're", "you're", "they're"}:
            yield _affirm(sentence, index - 1, index, sentence.tokens[index - 1].text)


def _without_do(sentence: Sentence, first: int, last: int, auxiliary: str) -> Iterator[Change]:
    """Join *do* with the verb that follows; keep another auxiliary."""
    if auxiliary not in {"do", "does", "did"}:
        yield _affirm(sentence, first, last, auxiliary)
        return
    verb = sentence.low(last + 1)
    if (verb, "base") in set(readings(verb)) and verb.isalpha() and verb not in {"have", "be"}:
        form = {"do": "base", "does": "s", "did": "past"}[auxiliary]
        yield _affirm(sentence, first, last + 1, inflect(verb, form))  # type: ignore[arg-type]
    elif verb == "have":
        yield _affirm(sentence, first, last + 1, {"do": "have", "does": "has", "did": "had"}[auxiliary])


def _affirm(sentence: Sentence, first: int, last: int, words: str) -> Change:
    text = sentence.put(first, last, words)
    place = sentence.tokens[first].start
    tail = re.sub(r"\b(?:any|any\w+)\b", lambda match: _AFFIRMED.get(match[0], match[0]), text[place:])
    return Change("negation", text[:place] + tail)


def turned(sentence: Sentence) -> Iterator[Change]:
    """Copies in which a word that denies, or affirms without exception, is its contrary."""
    for word, other in _WORDS.items():
        for match in re.finditer(rf"\b{word}\b", sentence.text, re.IGNORECASE):
            if word == "without" and re.match(r" \w+ing\b", sentence.text[match.end() :]):
                continue
            if len(_DENIED.findall(sentence.text)) < 2 and not sentence.question:
                yield Change(
                    "negation", f"{sentence.text[: match.start()]}{like(match[0], other)}{sentence.text[match.end() :]}"
                )
