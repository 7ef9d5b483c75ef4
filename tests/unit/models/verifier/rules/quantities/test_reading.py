"""Quantities that texts name."""

from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.verifier.rules.quantities import Comparator, Date, Quantity, quantities
from models.verifier.rules.quantities.types import (
    BYTES,
    CLOCK,
    COUNT,
    DATE,
    GRAMS,
    HALF_CLOCK,
    INCHES,
    LABEL,
    METRES,
    MONTHS,
    ORDINAL,
    OUNCES,
    RATIO,
    SECONDS,
    WEEKDAY,
    WORKING_DAYS,
    Dimension,
    Measure,
)
from tests.reference import spell

DAY = 86_400
USD, GBP, EUR = (Measure(Dimension.MONEY, code) for code in ("USD", "GBP", "EUR"))
# The text, the part that names the quantity, and its measure and value.
NAMED = [
    ("for twenty-one years", "twenty-one years", MONTHS, 252),
    ("twenty one of them", "twenty one", COUNT, 21),
    ("a dozen volunteers", "a dozen", COUNT, 12),
    ("half a dozen eggs", "half a dozen", COUNT, 6),
    ("3 dozen eggs", "3 dozen", COUNT, 36),
    ("a pair of threads", "pair", COUNT, 2),
    ("1.2 million users", "1.2 million", COUNT, 1_200_000),
    ("10k rows", "10k", COUNT, 10_000),
    ("1,234,567 rows", "1,234,567", COUNT, 1_234_567),
    ("I got one ninety five back", "one ninety five", COUNT, 195),
    ("it ends in four two seven one", "four two seven one", COUNT, 4271),
    ("a 64-core box", "64", COUNT, 64),
    ("one more file", "one", COUNT, 1),
    ("within 18 months", "18 months", MONTHS, 18),
    ("an 18-month term", "18-month", MONTHS, 18),
    ("a year and a half", "a year and a half", MONTHS, 18),
    ("one and a half years", "one and a half years", MONTHS, 18),
    ("1.5 years", "1.5 years", MONTHS, 18),
    ("2½ years", "2½ years", MONTHS, 30),
    ("1½ hours", "1½ hours", SECONDS, 5400),
    ("2 1/2 hours", "2 1/2 hours", SECONDS, 9000),
    ("2 ½ hours", "2 ½ hours", SECONDS, 9000),
    ("12 3/4 per cent", "12 3/4 per cent", RATIO, Fraction(51, 400)),
    ("$1 1/4 million", "$1 1/4 million", USD, 1_250_000),
    ("2 1/2-day visits", "2 1/2-day", SECONDS, 216_000),
    ("1/2 of it", "1/2", RATIO, Fraction(1, 2)),
    ("2.5 1/2", "2.5", COUNT, Fraction(5, 2)),
    ("2 5/7", "2", COUNT, 2),
    ("2 1/2/2024", "2", COUNT, 2),
    ("half a year", "half a year", MONTHS, 6),
    ("half an hour late", "half an hour", SECONDS, 1800),
    ("a quarter of an hour", "a quarter of an hour", SECONDS, 900),
    ("three quarters of an hour", "three quarters of an hour", SECONDS, 2700),
    ("a day late", "a day", SECONDS, DAY),
    ("a fortnight ago", "a fortnight", SECONDS, 14 * DAY),
    ("a couple of weeks", "couple of weeks", SECONDS, 14 * DAY),
    ("three whole days", "three whole days", SECONDS, 3 * DAY),
    ("2 hours and 30 minutes", "2 hours and 30 minutes", SECONDS, 9000),
    ("a timeout of 30s", "30s", SECONDS, 30),
    ("thirty (30) days' notice", "thirty (30) days", SECONDS, 30 * DAY),
    ("a year's notice", "a year's", MONTHS, 12),
    ("5 business days", "5 business days", WORKING_DAYS, 5),
    ("costs £31,500 a year", "£31,500", GBP, 31_500),
    ("some $5k", "$5k", USD, 5000),
    ("€1.2m in fees", "€1.2m", EUR, 1_200_000),
    ("USD 500", "USD 500", USD, 500),
    ("fifty bucks short", "fifty bucks", USD, 50),
    ("five dollars and fifty cents", "five dollars and fifty cents", USD, Fraction(11, 2)),
    ("1h 30m", "1h 30m", SECONDS, 5400),
    ("an hour and a half", "an hour and a half", SECONDS, 5400),
    ("half a percent", "half a percent", RATIO, Fraction(1, 200)),
    ("half a mile", "half a mile", INCHES, 31_680),
    ("half a pound", "half", RATIO, Fraction(1, 2)),
    (".5 of it", ".5", COUNT, Fraction(1, 2)),
    ("$.50", "$.50", USD, Fraction(1, 2)),
    ("over.5 files", "5", COUNT, 5),
    ("12\u202f000\u00a0rows", "12\u202f000", COUNT, 12_000),
    ("1\u00a0234\u00a0567.5 rows", "1\u00a0234\u00a0567.5", COUNT, Fraction(2_469_135, 2)),
    ("1\u20092345 rows", "1", COUNT, 1),
    ("1 000 rows", "1", COUNT, 1),
    ("10 km away", "10 km", METRES, 10_000),
    ("2.5cm wide", "2.5cm", METRES, Fraction(1, 40)),
    ("a 5cm gap", "5cm", METRES, Fraction(1, 20)),
    ("a 5-mile walk", "5-mile", INCHES, 316_800),
    ("6 feet 2 inches tall", "6 feet 2 inches", INCHES, 74),
    ("at 60 mph", "60 mph", INCHES, 60 * 63_360),
    ("250 g of flour", "250 g", GRAMS, 250),
    ("five kilos of rice", "five kilos", GRAMS, 5000),
    ("two tonnes", "two tonnes", GRAMS, 2_000_000),
    ("20 mg a day", "20 mg", GRAMS, Fraction(1, 50)),
    ("3 lbs", "3 lbs", OUNCES, 48),
    ("5 pounds", "5 pounds", GBP, 5),
    ("16g of memory", "16g", BYTES, 2**34),
    ("99p", "99p", GBP, Fraction(99, 100)),
    ("that last fiver", "fiver", GBP, 5),
    ("50 % off", "50 %", RATIO, Fraction(1, 2)),
    ("half of the fees", "half", RATIO, Fraction(1, 2)),
    ("rose by a quarter", "a quarter", RATIO, Fraction(1, 4)),
    ("two-thirds of votes", "two-thirds", RATIO, Fraction(2, 3)),
    ("a third of them", "a third", RATIO, Fraction(1, 3)),
    ("a sum of two hundred per cent (200%) more", "two hundred per cent (200%)", RATIO, 2),
    ("twice the fees", "twice", RATIO, 2),
    ("double the fee", "double", RATIO, 2),
    ("three times a week", "three times", RATIO, 3),
    ("10 basis points", "10 basis points", RATIO, Fraction(1, 1000)),
    ("2048 MB", "2048 MB", BYTES, 2**31),
    ("two gigs", "two gigs", BYTES, 2**31),
    ("the fifth of each month", "fifth", ORDINAL, 5),
    ("the 21st floor", "21st", ORDINAL, 21),
    ("the twenty-first time", "twenty-first", ORDINAL, 21),
    ("on the 3rd of May 2024", "3rd of May 2024", DATE, Date(2024, 5, 3)),
    ("on May 3rd, 2024,", "May 3rd, 2024", DATE, Date(2024, 5, 3)),
    ("on Sept. 9", "Sept. 9", DATE, Date(None, 9, 9)),
    ("the end of June", "June", DATE, Date(None, 6)),
    ("in May", "May", DATE, Date(None, 5)),
    ("since 2019", "2019", DATE, Date(2019)),
    ("on 2024-05-03", "2024-05-03", DATE, Date(2024, 5, 3)),
    ("on 31/12/2024", "31/12/2024", DATE, Date(2024, 12, 31)),
    ("on 03/05/2024", "03/05/2024", DATE, Date(2024)),
    ("next Friday", "Friday", WEEKDAY, 4),
    ("half past three", "half past three", HALF_CLOCK, 210),
    ("quarter to one", "quarter to one", HALF_CLOCK, 45),
    ("ten o\u2019clock", "ten o\u2019clock", HALF_CLOCK, 600),
    ("at 3:30", "3:30", HALF_CLOCK, 210),
    ("at 3:30 p.m. sharp", "3:30 p.m.", CLOCK, 930),
    ("at 15:30", "15:30", CLOCK, 930),
    ("3pm", "3pm", CLOCK, 900),
    ("12 am", "12 am", CLOCK, 0),
    ("at 8 in the morning", "8 in the morning", CLOCK, 480),
    ("8 in the morning", "8 in the morning", CLOCK, 480),
    ("at eight o'clock in the evening", "eight o'clock in the evening", CLOCK, 1200),
    ("it rang 3:30 in the afternoon", "3:30 in the afternoon", CLOCK, 930),
    ("at 8.30 in the evening", "8.30 in the evening", CLOCK, 1230),
    ("at 12 in the afternoon", "12 in the afternoon", CLOCK, 720),
    ("around 11 at night", "11 at night", CLOCK, 1380),
    ("at two at night", "two at night", CLOCK, 120),
    ("at 12 at night", "12 at night", CLOCK, 0),
    ("half past eight in the evening", "half past eight in the evening", CLOCK, 1230),
    ("take 2 in the morning", "2", COUNT, 2),
    ("rooms for 4 at night", "4", COUNT, 4),
    ("at 8 in the workshop", "8", COUNT, 8),
    ("before noon", "noon", CLOCK, 720),
    ("Section 5", "5", LABEL, 5),
    ("Windows 11", "11", LABEL, 11),
]
NONE = [
    "",
    "no one was here",
    "one of them",
    "which one?",
    "you may go",
    "we march on",
    "a third party",
    "first of all",
    "wait a second",
    "just a minute",
    "double-click it",
    "version 2.3.1 and v2",
    "utf8, log4j and 12abc",
    "a hit",
    "in the 1990s",
    "in 1990s style",
    "1080p on a 5G phone",
    "\u00b2 \uff15",
]
COMPARED = [
    ("at least 5 files", Comparator.AT_LEAST),
    ("no fewer than 5 files", Comparator.AT_LEAST),
    ("5 or more files", Comparator.AT_LEAST),
    ("5 files or more", Comparator.AT_LEAST),
    ("hundreds of files", Comparator.AT_LEAST),
    ("up to 5 files", Comparator.AT_MOST),
    ("capped at 5 files", Comparator.AT_MOST),
    ("within 5 days", Comparator.AT_MOST),
    ("shall in no event exceed 5 days", Comparator.AT_MOST),
    ("never spawns more than 5", Comparator.AT_MOST),
    ("no later than the 5th", Comparator.AT_MOST),
    ("by the 5th", Comparator.AT_MOST),
    ("it is not mine, for more than 5 days", Comparator.MORE_THAN),
    ("over 5 files", Comparator.MORE_THAN),
    ("in excess of $5", Comparator.MORE_THAN),
    ("after 5 pm", Comparator.MORE_THAN),
    ("before May 5", Comparator.LESS_THAN),
    ("both before and after the 5th", Comparator.EXACTLY),
    ("before or after noon", Comparator.EXACTLY),
    ("fewer than 5 files", Comparator.LESS_THAN),
    ("not less than 5 files", Comparator.AT_LEAST),
    ("about 5 files", Comparator.ABOUT),
    ("5 minutes or so", Comparator.ABOUT),
    ("rose by 5 %", Comparator.EXACTLY),
    ("5 files", Comparator.EXACTLY),
]
_WORDS = """
a an and the of one two twenty hundred million half quarter thirds first second day days year - ( ) $ % . , : / 5 2024 '
3.5 1,000 may june friday noon past to between at least more than pm k m dozen couple several hundreds s
"""
WORDS = _WORDS.split()


def ordinal(day: int) -> str:
    teens = day in (11, 12, 13)
    return f"{day}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"


def only(text: str) -> Quantity:
    (quantity,) = quantities(text)
    return quantity


@pytest.mark.parametrize(("text", "part", "measure", "value"), NAMED)
def test_a_quantity_has_its_place_and_its_value(text: str, part: str, measure: Measure, value: object) -> None:
    quantity = quantities(text)[0]
    assert (text[quantity.start : quantity.end], quantity.measure, quantity.value) == (part, measure, value)


@pytest.mark.parametrize("text", NONE)
def test_what_names_no_quantity_has_none(text: str) -> None:
    assert quantities(text) == ()


@pytest.mark.parametrize(("text", "comparator"), COMPARED)
def test_the_words_around_a_quantity_say_its_bounds(text: str, comparator: Comparator) -> None:
    assert only(text).comparator is comparator


@pytest.mark.parametrize(
    ("text", "measure", "value", "upper"),
    [
        ("two to three days", SECONDS, 2 * DAY, 3 * DAY),
        ("2-3 days", SECONDS, 2 * DAY, 3 * DAY),
        ("two or three days", SECONDS, 2 * DAY, 3 * DAY),
        ("between 5 and 10 people", COUNT, 5, 10),
        ("200-300k", COUNT, 200_000, 300_000),
        ("£5 to £10", GBP, 5, 10),
    ],
)
def test_a_range_has_two_ends(text: str, measure: Measure, value: int, upper: int) -> None:
    assert only(text)[2:5] == (measure, value, upper)


def test_a_change_is_two_quantities() -> None:
    assert [quantity.value for quantity in quantities("from 5 to 10")] == [5, 10]


def test_a_rate_is_no_duration() -> None:
    assert [quantity.measure for quantity in quantities("$5 an hour, three times a week")] == [USD, RATIO]


@given(st.integers(0, 10**12 - 1), st.sampled_from(["-", " "]), st.sampled_from([" and ", " "]))
def test_a_spelled_number_reads_as_its_value(number: int, hyphen: str, conjunction: str) -> None:
    for spelling in (spell(number, hyphen, conjunction), str(number), f"{number:,}"):
        quantity = only(f"we counted {spelling} files")
        assert (quantity.value, quantity.measure) == (number, COUNT)
        assert f"we counted {spelling} files"[quantity.start : quantity.end] == spelling


@given(st.decimals(0, 10**6, places=2))
def test_a_decimal_number_is_exact(number: object) -> None:
    assert only(f"{number} dollars").value == only(f"${number}").value == Fraction(str(number))


@given(st.integers(1, 10**6), st.sampled_from([("second", 1), ("hour", 3600), ("week", 7 * DAY)]))
def test_durations_are_in_seconds(number: int, unit: tuple[str, int]) -> None:
    name, seconds = unit
    for spelling in (f"{number} {name}s", f"{number}-{name}", f"{spell(number)} {name}s"):
        assert only(spelling)[2:4] == (SECONDS, number * seconds)


@given(st.dates(date(1800, 1, 1), date(2199, 12, 31)))
def test_a_date_reads_as_it_was_written(day: date) -> None:
    for text in (f"{day:%Y-%m-%d}", f"{day:%d %B %Y}", f"{day:%B %d, %Y}", f"{ordinal(day.day)} of {day:%b %Y}"):
        assert only(text).value == Date(day.year, day.month, day.day)


@given(st.lists(st.sampled_from(WORDS), max_size=12), st.sampled_from([" ", ""]))
def test_any_words_have_ordered_places(parts: list[str], joint: str) -> None:
    text = joint.join(parts)
    last = 0
    for quantity in quantities(text):
        assert last <= quantity.start < quantity.end <= len(text)
        assert text[quantity.start : quantity.end].strip() == text[quantity.start : quantity.end]
        last = quantity.end


@pytest.mark.parametrize("text", ["1" * 5000, "0." + "1" * 5000, f"1-{'1' * 5000}-1"])
def test_a_long_row_of_digits_is_no_number(text: str) -> None:
    assert all(quantity.value in (0, 1) for quantity in quantities(text))


def test_digits_are_spoken_without_end() -> None:
    assert quantities("one " * 5000)[0].value == int("1" * 40)


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert all(0 <= quantity.start < quantity.end <= len(text) for quantity in quantities(text))
