"""Turns of MultiDoGO asked for by their intent: the intent's name as words, and a customer's way to say it."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from models.errors import InvalidInput
from research.benchmarks.multidogo import PHRASES, Turn, read_turns
from research.evaluation.topical_retrieval import Topics

TURNS = "multidogo/splits_annotated_at_turn_level"
SPLITS = ("train", "dev", "test")

# The names of the same intents as the data set has them, set apart into words.
NAMES = {
    "bookflight": "book flight",
    "changeseatassignment": "change seat assignment",
    "checkbalance": "check balance",
    "checkclaimstatus": "check claim status",
    "checkserverstatus": "check server status",
    "disputecharge": "dispute charge",
    "expensereport": "expense report",
    "getboardingpass": "get boarding pass",
    "getproofofinsurance": "get proof of insurance",
    "getseatinfo": "get seat info",
    "orderpizzaintent": "order pizza",
    "reportbrokenphone": "report broken phone",
    "reportbrokensoftware": "report broken software",
    "reportlostcard": "report lost card",
    "softwareupdate": "software update",
    "startorder": "start order",
    "startserviceintent": "start service",
    "transfermoney": "transfer money",
    "updateaddress": "update address",
    "viewbillsintent": "view bills",
}


def read_intents(data: Path, split: str) -> Topics:
    """The turns of a split of MultiDoGO in a data folder, and the intents that some of them have."""
    turns = [turn for turn in read_turns(data / TURNS) if turn.split == split]
    if not turns:
        raise InvalidInput(
            f"There are no turns of the split {split!r} in {data / TURNS}.",
            hint="Give the folder of the known sets, with MultiDoGO in multidogo/.",
            field="data",
        )
    return intents_of(turns)


def intents_of(turns: Sequence[Turn]) -> Topics:
    """Every intent that a turn has asked for twice: by its name, and by a phrase. Other turns are there to mislead.

    >>> turns = [Turn("1", "a flight please", frozenset({"bookflight"}), "airline", "dev")]
    >>> topics = intents_of([*turns, Turn("2", "hello", frozenset({"openinggreeting"}), "airline", "dev")])
    >>> topics.queries, topics.relevant.tolist()
    (['book flight', 'I want to book a flight'], [[True, False], [True, False]])
    """
    intents = [intent for intent in PHRASES if any(intent in turn.intents for turn in turns)]
    asked = [(intent, words[intent]) for intent in intents for words in (NAMES, PHRASES)]
    relevant = np.array([[intent in turn.intents for turn in turns] for intent, _ in asked])
    texts = [turn.text for turn in turns]
    return Topics(texts, [query for _, query in asked], relevant, [intent for intent, _ in asked])
