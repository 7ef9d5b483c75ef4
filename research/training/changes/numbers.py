"""Rules for quantities: another value in the same form, and the same value in another form."""

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from random import Random
from typing import Final

from research.training.changes.inflections import like, with_articles
from research.training.changes.numerals import ordinal, spell, spell_ordinal
from research.training.changes.quantities import MONTHS, WEEKDAYS, Quantity, number, quantities
from research.training.changes.sentence import Change, Sentence


def other_numbers(sentence: Sentence) -> Iterator[Change]:
    """Copies in which one quantity has another value."""
    for quantity in _plain(sentence.text):
        if quantity.value != 1 or quantity.form in {"weekday", "month", "clock"}:  # one has a singular beside it
            words = _other(quantity, sentence.chance)
            if words is not None:
                yield Change("number", _put(sentence.text, quantity, words))


def same_numbers(sentence: Sentence) -> Iterator[Change]:
    """Copies in which one quantity is written in another way."""
    for quantity in _plain(sentence.text):
        for words in _same(quantity):
            text = _put(sentence.text, quantity, words)
            if text != sentence.text and quantities(text) and _values(text) == _values(sentence.text):
                yield Change("same", text)


def _plain(text: str) -> list[Quantity]:
    """The quantities of a text that are no part of a code, such as ``h 87``."""
    code = re.compile(r"(?:^|[ .,])[b-hj-z] $", re.IGNORECASE), re.compile(r" [b-hj-z](?![\w'])", re.IGNORECASE)
    part = re.compile(r"\b(?:an?|one|two) $", re.IGNORECASE)  # a third, a hundred
    return [
        q
        for q in quantities(text)
        if not (q.value == 1 and q.form == "number" and q.written[0].isalpha())  # a pronoun: this one
        and not code[0].search(text[: q.start])
        and not code[1].match(text, q.end)
        and not (part.search(text[: q.start]) and (q.form == "position" or not q.written[0][0].isdigit()))
    ]


def _values(text: str) -> list[tuple[Fraction, str]]:
    return [(quantity.value, quantity.unit) for quantity in quantities(text)]


def _put(text: str, quantity: Quantity, words: str) -> str:
    written = quantity.written[0]
    words = words if written[:1].isdigit() or not words[:1].isalpha() else like(written, words)
    return with_articles(f"{text[: quantity.start]}{words}{text[quantity.end :]}")


def _other(quantity: Quantity, chance: Random) -> str | None:
    """Another value, in the form of a quantity."""
    written, value = quantity.written, quantity.value
    if quantity.form == "weekday":
        return chance.choice([day for n, day in enumerate(WEEKDAYS) if n != value])
    if quantity.form == "month":
        return chance.choice([m for n, m in enumerate(MONTHS) if n != value and m not in {"March", "May"}])
    if quantity.form == "half":
        return None
    if quantity.form in {"clock", "clock24"}:
        return _other_time(quantity, chance)
    if quantity.form == "position":
        other = _near(int(value), chance, 1, 9 if value < 10 else 31 if value < 32 else 99)
        if other is None:
            return None
        return ordinal(other) if written[0][0].isdigit() else spell_ordinal(other)
    group = {"share": "share", "money": "sum", "coins": "coins", "span": "span", "number": "number"}[quantity.form]
    other_words = _other_number(written[group], chance, 100 if quantity.form == "share" and value <= 1 else 10**9)
    start, end = written.span(group)
    whole = written[0]
    return other_words and whole[: start - written.start()] + other_words + whole[end - written.start() :]


def _other_number(words: str, chance: Random, most: int) -> str | None:
    """Another number of the same size and form."""
    digits, blank, scale = words.partition(" ") if words[0].isdigit() else (words, "", "")
    if "." in digits:
        whole, _, decimals = digits.partition(".")
        other = _other_number(whole, chance, most)
        return other and f"{other}.{decimals}{blank}{scale}"
    whole_number = _whole(digits)
    if not whole_number or (digits.startswith("0") and len(digits) > 1):
        return None
    if 1700 <= whole_number <= 2100 and len(digits) == 4 and digits.isdigit():
        return str(whole_number + chance.choice([n for n in range(-12, 13) if n]))  # a year
    other_number = _near(whole_number, chance, 2, most)
    if other_number is None:
        return None
    if not digits[0].isdigit():
        return spell(other_number)
    return (f"{other_number:,}" if "," in digits else str(other_number)) + blank + scale


def _whole(digits: str) -> int | None:
    value = number(digits)
    return int(value) if value is not None and value.denominator == 1 and value < 10**9 else None


def _near(value: int, chance: Random, least: int, most: int) -> int | None:
    """Another number of the same size and roundness, if there is one."""
    if value == 0:
        return None
    step = next(10**n for n in range(9, -1, -1) if value % 10**n == 0)
    unit = max(step if value // step > 1 else step // 10, 1)
    factors = [k * unit for k in range(2, 13) if least <= k * unit <= most and k * unit != value]
    near = [value + k * unit for k in range(-9, 10) if k and least <= value + k * unit <= most]
    others = factors if value < 13 * unit else near
    return chance.choice(others) if others else None


def _other_time(quantity: Quantity, chance: Random) -> str:
    written = quantity.written
    if quantity.form == "clock24":
        other = chance.choice([h for h in range(7, 22) if h != int(written["hour24"])])
        return f"{other}:{written['minute24']}"
    hour = chance.choice([h for h in range(1, 13) if h != int(written["hour"])])
    return f"{hour}{written[0][len(written['hour']) :]}"


def _same(quantity: Quantity) -> Iterator[str]:
    if quantity.form in _SAME:
        yield from _SAME[quantity.form](quantity)


def _forms(words: str) -> Iterator[str]:
    """Digits as words, and words as digits."""
    value = _whole(words) if " " not in words or not words[0].isdigit() else None
    if value is None or 1700 <= value <= 2100 or (words[0] == "0" and words != "0"):
        return
    if not words[0].isdigit():
        yield f"{value:,}" if value >= 10_000 else str(value)
    elif value <= 100 or value % 100 == 0:
        yield spell(value)


def _same_share(quantity: Quantity) -> Iterator[str]:
    words = quantity.written["share"]
    yield (
        f"{words} percent" if "%" in quantity.written[0] else f"{words}%" if words[0].isdigit() else f"{words} per cent"
    )
    for other in _forms(words):
        yield f"{other} percent" if other[0].isalpha() else f"{other}%"


def _same_money(quantity: Quantity) -> Iterator[str]:
    if quantity.value.denominator == 1 and quantity.value > 1:
        value = int(quantity.value)
        yield f"{value:,} {quantity.unit}s"
        if value % 1_000 == 0 and value < 10**6:
            yield f"{quantity.written['sign']}{value // 1_000}k"
        if value <= 100 or value % 100 == 0:
            yield f"{spell(value)} {quantity.unit}s"


def _same_coins(quantity: Quantity) -> Iterator[str]:
    sign = {"dollar": "$", "pound": "£", "euro": "€"}[quantity.unit]
    if quantity.value.denominator == 1:
        yield f"{sign}{int(quantity.value):,}"
    for other in _forms(quantity.written["coins"]):
        yield f"{other} {quantity.unit}s"


def _same_span(quantity: Quantity) -> Iterator[str]:
    written, value = quantity.written, quantity.value
    tail = f"{written['joint']}{written['unit']}{written['plural']}"
    yield from (f"{other}{tail}" for other in _forms(written["span"]))
    if written["joint"] == "-" or not written["plural"]:
        return
    for scale, kind, unit in (
        (604_800, "second", "week"),
        (86_400, "second", "day"),
        (3_600, "second", "hour"),
        (60, "second", "minute"),
        (12, "month", "year"),
        (1, "month", "month"),
    ):
        amount = value / scale
        if quantity.unit != kind or unit == written["unit"].lower() or not amount <= 120:
            continue
        if amount == Fraction(3, 2):
            yield f"{'an' if unit == 'hour' else 'a'} {unit} and a half"
        elif amount.denominator == 1:
            yield f"{spell(int(amount)) if amount < 13 else int(amount)} {unit}{'s' if amount > 1 else ''}"


def _same_half(quantity: Quantity) -> Iterator[str]:
    unit = quantity.written["half_unit"].lower()
    if unit == "year":
        yield from ("18 months", "eighteen months")
    if unit == "hour":
        yield from ("90 minutes", "ninety minutes")


def _same_clock(quantity: Quantity) -> Iterator[str]:
    hour, minute = divmod(int(quantity.value), 60)
    noon = "am" if hour < 12 else "pm"
    if quantity.form == "clock":
        yield f"{hour:02}:{minute:02}"
    yield f"{(hour - 1) % 12 + 1}{f':{minute:02}' if minute else ''} {noon}"


def _same_position(quantity: Quantity) -> Iterator[str]:
    value = int(quantity.value)
    yield spell_ordinal(value) if quantity.written[0][0].isdigit() else ordinal(value)


_SAME: Final[dict[str, Callable[[Quantity], Iterator[str]]]] = {
    "number": lambda quantity: _forms(quantity.written["number"]),
    "share": _same_share,
    "money": _same_money,
    "coins": _same_coins,
    "span": _same_span,
    "half": _same_half,
    "clock": _same_clock,
    "clock24": _same_clock,
    "position": _same_position,
}
