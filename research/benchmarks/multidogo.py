"""MultiDoGO: what customers of six lines of business said, turn by turn, and with what intent.

Intents were given to whole turns by people who saw the conversation; they are noisy. A wish within a greeting is often
labelled as the greeting, a repeated one as content only, and `changeseatassignment` and `getseatinfo` are given to the
same words.
"""

import csv
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from models.types import Document, Part

# One phrase for each intent that is a wish and has a hundred turns of the training split or more: greetings, thanks,
# and bare names of dishes are none. Worded after reading the training split alone.
PHRASES = {
    "bookflight": "I want to book a flight",
    "changeseatassignment": "I want to change my seat",
    "checkbalance": "check my account balance",
    "checkclaimstatus": "what is the status of my claim",
    "checkserverstatus": "check the global status of the servers",
    "disputecharge": "there is an error on my credit card bill",
    "expensereport": "I want to report my travel expenses",
    "getboardingpass": "I need my boarding pass",
    "getproofofinsurance": "I need a proof of insurance for my car",
    "getseatinfo": "I want to know my seat number",
    "orderpizzaintent": "I want to order a pizza",
    "reportbrokenphone": "the screen of my phone is cracked",
    "reportbrokensoftware": "my software is not working",
    "reportlostcard": "I lost my credit card",
    "softwareupdate": "I am missing software updates",
    "startorder": "I want to order musical instruments",
    "startserviceintent": "I want new cable service",
    "transfermoney": "transfer money to another account",
    "updateaddress": "I want to change my address",
    "viewbillsintent": "show me my current bill",
}


@dataclass(frozen=True, slots=True)
class Turn:
    """Turn of a customer: what was said at once, and the intents it was given."""

    id: str
    text: str
    intents: frozenset[str]
    domain: str
    split: str

    def document(self) -> Document:
        """The turn as it is indexed: without its intents."""
        return Document(self.id, (Part(self.text),), {"domain": self.domain, "split": self.split})


def read_turns(folder: Path) -> Iterator[Turn]:
    """All turns with a text, of all splits, each once."""
    seen: set[str] = set()
    for path in sorted(folder.glob("*/*.tsv*")):
        for row in _rows(path):
            text = (row["utterance"] or "").strip()
            id = f"{path.parent.name}/{row['conversationId']}/{row['turnNumber']}"
            if text and id not in seen:
                seen.add(id)
                intents = frozenset((row["intent"] or "").split("<div>"))
                yield Turn(id, text, intents, path.parent.name, path.name.split(".")[0])


def _rows(path: Path) -> Iterator[dict[str, str | None]]:
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8", "replace")
    yield from csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
