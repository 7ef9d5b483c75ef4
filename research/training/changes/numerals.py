"""Numbers in words: read them and spell them."""

from typing import Final

from research.training.changes.word_lists import word_list

_ONES: Final = word_list(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS: Final = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SCALES: Final = {"billion": 10**9, "million": 10**6, "thousand": 1_000, "hundred": 100}
_ORDINALS: Final = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
_SMALL: Final = {word: n for n, word in enumerate(_ONES)} | {word: 10 * n for n, word in enumerate(_TENS, 2)}

WORDS: Final = (*_SMALL, *_SCALES)


def spell(number: int) -> str:
    """A number from 0 below 10^12 in words.

    >>> spell(18), spell(45), spell(365), spell(5_000)
    ('eighteen', 'forty-five', 'three hundred and sixty-five', 'five thousand')
    """
    if number < 20:
        return _ONES[number]
    if number < 100:
        return _TENS[number // 10 - 2] + (f"-{_ONES[number % 10]}" if number % 10 else "")
    name, scale = next((name, scale) for name, scale in _SCALES.items() if scale <= number)
    rest = number % scale
    return f"{spell(number // scale)} {name}" + (f"{' and' if rest < 100 else ''} {spell(rest)}" if rest else "")


def read(words: str) -> int | None:
    """The number that words spell, or none.

    >>> read("three hundred and sixty-five"), read("Twenty two"), read("five five"), read("fast")
    (365, 22, None, None)
    """
    total, part, last = 0, 0, 10**12
    for word in words.lower().replace("-", " ").replace(" and ", " ").split():
        if word in _SCALES:
            scale = _SCALES[word]
            if scale == 100:
                part, last = max(part, 1) * 100, 100
            else:
                total, part, last = total + max(part, 1) * scale, 0, 10**12
        elif word in _SMALL:
            number = _SMALL[word]
            if part and not (last == 100 or (20 <= last < 100 and 0 < number < 10)):
                return None
            part, last = part + number, number
        else:
            return None
    return total + part if words.strip() else None


def ordinal(number: int) -> str:
    """A position in digits.

    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 22)]
    ['1st', '2nd', '3rd', '4th', '11th', '22nd']
    """
    last = number % 10 if number // 10 % 10 != 1 else 0
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') }"


def spell_ordinal(number: int) -> str:
    """A position in words.

    >>> [spell_ordinal(n) for n in (1, 5, 12, 20, 21)]
    ['first', 'fifth', 'twelfth', 'twentieth', 'twenty-first']
    """
    words = spell(number)
    cut = max(words.rfind("-"), words.rfind(" ")) + 1
    head, last = words[:cut], words[cut:]
    regular = f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th"
    return head + _ORDINALS.get(last, regular)
