"""CUAD: contracts in which lawyers marked the clauses of 41 categories.

Documents are contracts, and parts are their lines: in these texts a line is a paragraph, a clause or a heading. A blank
line belongs to the part before it, so that the document's text is the published one to the character.

The published table quotes clauses and does not say where they stand. A quotation is looked for as it is, but for white
space, and its first occurrence is taken; one with something left out (``<omitted>``) is not found.

Two tasks. ``question``: what a category is, in the words of the set's own description, is asked of every contract with
clauses of it, and of that contract alone. ``clause``: the clauses of one contract in five are asked of all the others,
where clauses of the same category are gold. Only categories that the table answers with yes or no are asked for so,
because only there lawyers marked whole sentences, and only clauses no longer than the longest span.
"""

import ast
import csv
import io
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from models.text import units
from models.types import CharSpan, Document, Part
from research.evaluation.converters.conversion import Conversion
from research.evaluation.converters.files import read_text, read_texts
from research.evaluation.converters.folding import FoldedText
from research.evaluation.corpus import DocumentSpan
from research.evaluation.queries import Query

CONTRACTS = "full_contract_txt"
TABLE = "master_clauses.csv"
README = "CUAD_v1_README.txt"

# One contract in so many asks in the task ``clause``; it is not searched.
_ONE_IN = 5
_SEED = 13
# The longest span that a collection may have, in units.
_LONGEST = 64
# Categories that the table and the description do not spell alike.
_DESCRIBED_AS = {
    "Affiliate License-Licensee": "Affiliate IP License-Licensee",
    "Affiliate License-Licensor": "Affiliate IP License-Licensor",
    "Notice Period To Terminate Renewal": "Notice to Terminate Renewal",
    "Price Restrictions": "Price Restriction",
    "Rofr/Rofo/Rofn": "Right of First Refusal, Offer or Negotiation (ROFR/ROFO/ROFN)",
}
_DESCRIPTION = re.compile(r"Category:\s*(.*?)\s*Description:\s*(.*?)\s*Answer Format:", re.DOTALL)
# A line break before a line with something on it.
_BREAK = re.compile(r"\n(?=[^\S\n]*\S)")


@dataclass(frozen=True, slots=True)
class Quotations:
    """Quotations in the table: texts by the name of the contract and by category; categories of whole sentences."""

    by_contract: Mapping[str, Mapping[str, Sequence[str]]]
    sentences: frozenset[str]


@dataclass(frozen=True, slots=True)
class Contract:
    """A contract, its clauses by category, and how many quotations do not stand in it."""

    document: Document
    clauses: Mapping[str, tuple[CharSpan, ...]]
    not_found: int


def read(folder: Path, task: str) -> Conversion:
    """All contracts of the published folder."""
    table = read_quotations(read_text(folder, TABLE))
    read_contracts = contracts(folder, table)
    if task == "question":
        return ask_questions(read_contracts, read_descriptions(read_text(folder, README)))
    return ask_clauses(read_contracts, table.sentences)


def contracts(folder: Path, table: Quotations | None = None) -> list[Contract]:
    """All contracts of the published folder by name, with the clauses that the table quotes, if it is given."""
    quoted = {} if table is None else table.by_contract
    return [contract(name, text, quoted.get(_key(name), {})) for name, text in sorted(read_texts(folder, CONTRACTS))]


def read_quotations(table: str) -> Quotations:
    """The table: a name, then for every category a column of quotations and one of answers."""
    csv.field_size_limit(2**31 - 1)
    header, *rows = csv.reader(io.StringIO(table, newline=""))
    categories = {name: column for column, name in enumerate(header) if column % 2}
    by_contract = {
        _key(Path(row[0]).stem): {
            name: ast.literal_eval(row[column]) for name, column in categories.items() if row[column]
        }
        for row in rows
    }
    answers = {name: {row[column + 1].strip().lower() for row in rows} for name, column in categories.items()}
    sentences = frozenset(name for name in categories if answers[name] <= {"yes", "no", ""})
    return Quotations(by_contract, sentences)


def read_descriptions(readme: str) -> dict[str, str]:
    """Return the description of every category, by its key.

    >>> read_descriptions("Category: Anti-Assignment\\n Description: Is consent \\n required?\\n Answer Format: Yes/No")
    {'antiassignment': 'Is consent required?'}
    """
    return {_key(name): " ".join(description.split()) for name, description in _DESCRIPTION.findall(readme)}


def _key(name: str) -> str:
    """A name as letters and digits alone: signs and case differ between the files."""
    return "".join(sign for sign in unicodedata.normalize("NFKC", name).casefold() if sign.isalnum())


def contract(name: str, text: str, quotations: Mapping[str, Sequence[str]]) -> Contract:
    """A contract with its clauses found.

    >>> found = contract("a", "1. Law.\\n\\nThis is governed\\nby  law.", {"Law": ["governed by law", "by <omitted>"]})
    >>> [part.text for part in found.document.parts], found.clauses, found.not_found
    (['1. Law.\\n', 'This is governed', 'by  law.'], {'Law': (CharSpan(start=17, end=33),)}, 1)
    """
    folded = FoldedText(text)
    quoted_spans = {category: [folded.find(quoted) for quoted in texts] for category, texts in quotations.items()}
    clauses = {
        category: tuple(dict.fromkeys(span for span in spans if span is not None))
        for category, spans in quoted_spans.items()
    }
    not_found = sum(span is None for spans in quoted_spans.values() for span in spans)
    return Contract(Document(name, tuple(map(Part, _BREAK.split(text)))), clauses, not_found)


def ask_questions(contracts: Sequence[Contract], descriptions: Mapping[str, str]) -> Conversion:
    """Every category's description, asked of every contract that has clauses of it."""
    queries = [
        Query(
            id=f"{contract.document.id}: {category}",
            text=descriptions[_key(_DESCRIBED_AS.get(category, category))],
            gold=tuple(DocumentSpan(contract.document.id, span) for span in spans),
            within=(contract.document.id,),
        )
        for contract in contracts
        for category, spans in contract.clauses.items()
        if spans
    ]
    return _conversion(contracts, contracts, queries)


def ask_clauses(contracts: Sequence[Contract], categories: Iterable[str]) -> Conversion:
    """Clauses of some contracts, asked of the others; one of each category, drawn with a fixed seed."""
    rng = Random(_SEED)  # noqa: S311  a draw, not a secret
    asking = set(rng.sample(range(len(contracts)), -(-len(contracts) // _ONE_IN)))
    searched = [contract for number, contract in enumerate(contracts) if number not in asking]
    gold = _by_category(searched)
    queries = [
        Query(f"{contracts[number].document.id}: {category}", rng.choice(texts), tuple(gold[category]))
        for number in sorted(asking)
        for category in sorted(categories)
        if (texts := _short_clauses(contracts[number], category)) and gold[category]
    ]
    return _conversion(contracts, searched, queries)


def _by_category(contracts: Sequence[Contract]) -> dict[str, list[DocumentSpan]]:
    by_category: dict[str, list[DocumentSpan]] = defaultdict(list)
    for contract in contracts:
        for category, spans in contract.clauses.items():
            by_category[category] += [DocumentSpan(contract.document.id, span) for span in spans]
    return by_category


def _short_clauses(contract: Contract, category: str) -> list[str]:
    texts = [span.of(contract.document.text) for span in contract.clauses.get(category, ())]
    return [text for text in texts if len(units.split(text)) <= _LONGEST]


def _conversion(contracts: Sequence[Contract], searched: Sequence[Contract], queries: Sequence[Query]) -> Conversion:
    documents = tuple(contract.document for contract in searched)
    return Conversion(documents, tuple(queries), sum(contract.not_found for contract in contracts))
