"""Minimal changes: of the kind that they say, the same for the same text, and numbers that are other or equal."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.training.changes.numbers import other_numbers, same_numbers
from research.training.changes.numerals import ordinal, read, spell
from research.training.changes.quantities import quantities
from research.training.changes.sentence import Sentence
from research.training.changes.wordnet import WordNet, read_wordnet
from research.training.minimal_changes import changes
from tests.research.training.wordnet_files import write_wordnet

EXAMPLES = """
antonym | The buyer pays the invoice. | The seller pays the invoice.
antonym | Prices increased in May. | Prices decreased in May.
antonym | I want a cheaper flight. | I want a more expensive flight.
antonym | Call me before lunch. | Call me after lunch.
antonym | It takes at least two weeks. | It takes at most two weeks.
antonym | She accepted the order. | She rejected the order.
antonym | It was a popular book. | It was an unpopular book.
antonym | We need more than that. | We need less than that.
antonym | He opened the door. | He closed the door.
negation | The agent called me twice. | The agent did not call me twice.
negation | The agent called me twice. | The agent never called me twice.
negation | The file is empty. | The file is not empty.
negation | I like the book. | I do not like the book.
negation | She likes the book. | She does not like the book.
negation | You can open it. | You cannot open it.
negation | I'm at the door. | I'm not at the door.
negation | We have received the order. | We have not received the order.
negation | They have a house. | They do not have a house.
negation | The file isn't empty. | The file is empty.
negation | I don't have any questions. | I have some questions.
negation | She doesn't need it. | She needs it.
negation | You must not share it. | You must share it.
negation | It never fails. | It always fails.
negation | We left without the invoice. | We left with the invoice.
object | She plays the piano. | She plays the guitar. / She plays the drum.
action | He books it. | He finds it. / He rates it. / He cancels it. / He changes it. / He confirms it. / He tracks it.
role | The agent called me twice. | I called the agent twice.
role | The tenant paid the landlord. | The landlord paid the tenant.
role | We will refund you. | You will refund us.
role | Can you call me? | Can I call you?
role | Sadler moved from London to Paris. | Sadler moved from Paris to London.
role | He was called by the driver. | He called the driver.
role | The house is older than the church. | The church is older than the house.
role | Bring tea instead of coffee. | Bring coffee instead of tea.
modality | The buyer shall pay the invoice. | The buyer may pay the invoice.
modality | You must pay it now. | You may pay it now.
modality | You may cancel the order. | You must cancel the order.
modality | I want to cancel my order. | I already canceled my order.
modality | We paid it. | We plan to pay it. / We hope to pay it. / We want to pay it.
modality | Prices will rise. | Prices might rise.
condition | We refund you if the goods arrive late. | We refund you.
condition | We refund you if the goods arrive late. | We refund you unless the goods arrive late.
condition | If you cancel, we will refund you. | We will refund you.
condition | Unless you cancel, we will call. | If you cancel, we will call.
scope | All users can open the page. | Only some users can open the page.
scope | Every user has a password. | No user has a password.
scope | It always fails. | It only sometimes fails.
scope | My bags were lost. | Only a few of my bags were lost.
same | I am late. | I'm late.
same | She didn't call. | She did not call.
same | I purchased a house. | I bought a house.
same | The company failed. | The firm failed.
same | The company bought the house in 1990. | The house was bought by the company in 1990.
same | If you cancel, we call you. | We call you if you cancel.
same | It is big. | It is large.
same | Can you call me? | Can you please call me?
same | Book for four people | Book for 4 people
same | 18 months | eighteen months / a year and a half
same | a year and a half | 18 months / eighteen months
same | 50% of users | fifty percent of users / 50 percent of users
same | It cost $5k. | It cost 5,000 dollars.
same | at 16:30 | at 4:30 pm
same | within 14 days | within two weeks / within fourteen days
""".strip().splitlines()
TEXTS = [line.split(" | ")[1] for line in EXAMPLES]


@pytest.fixture(scope="module")
def wordnet(tmp_path_factory: pytest.TempPathFactory) -> WordNet:
    return read_wordnet(write_wordnet(tmp_path_factory.mktemp("dict")))


@pytest.mark.parametrize("line", EXAMPLES)
def test_checked_examples(line: str, wordnet: WordNet) -> None:
    kind, text, copies = line.split(" | ")
    made = {change.text: change.kind for change in changes(text, wordnet)}
    assert kind in {made.get(copy) for copy in copies.split(" / ")}, made


@pytest.mark.parametrize("text", TEXTS)
def test_the_same_text_has_the_same_changes(text: str, wordnet: WordNet) -> None:
    made = changes(text, wordnet)
    assert made == changes(text, wordnet)
    assert len({change.text for change in made} - {text}) == len(made)


def test_another_process_makes_the_same_changes() -> None:
    script = f"from research.training.minimal_changes import changes; print([changes(t, None) for t in {TEXTS!r}])"
    printed = [
        subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]
    assert printed[0] == printed[1] != b""


UNITS = ("", "%", " percent", " dollars", " days", " weeks", " months", " hours", "-day trial")
WRITTEN = st.integers(2, 5_000).flatmap(lambda n: st.sampled_from([str(n), f"{n:,}", spell(n)]))
QUANTITIES = st.one_of(
    st.tuples(WRITTEN, st.sampled_from(UNITS)).map("".join),
    st.integers(1, 900).map("${}k".format),
    st.integers(0, 99).map(ordinal),
    st.tuples(st.integers(1, 12), st.sampled_from(["am", "pm"])).map(lambda time: f"{time[0]} {time[1]}"),
    st.sampled_from(["3rd", "second", "a year and a half", "16:30", "Monday", "August", "0.5%", "12.75"]),
)


@given(st.lists(QUANTITIES, min_size=1, max_size=3))
def test_other_numbers_are_never_equal_and_the_same_always(written: list[str]) -> None:
    sentence = Sentence(f"They say {' and then '.join(written)} here.", None)
    values = _values(sentence.text)
    assert all(change.kind == "number" and _values(change.text) != values for change in other_numbers(sentence))
    assert all(change.kind == "same" and _values(change.text) == values for change in same_numbers(sentence))


def _values(text: str) -> list[tuple[object, str]]:
    return [(quantity.value, quantity.unit) for quantity in quantities(text)]


@given(st.integers(0, 10**12 - 1))
def test_numbers_in_words_are_read_back(number: int) -> None:
    assert read(spell(number)) == number


def test_wordnet_without_its_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"data\.noun"):
        read_wordnet(tmp_path)
