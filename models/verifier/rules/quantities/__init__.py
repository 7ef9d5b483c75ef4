"""Quantities of English texts: numbers, amounts, durations, dates and times in a normal form (ADR 34).

>>> compare("cancel within 24 hours", "you may cancel within a day").contradicted
()
"""

from models.verifier.rules.quantities.agreement import Agreement, Relation, compare, relation
from models.verifier.rules.quantities.reading import quantities
from models.verifier.rules.quantities.types import Comparator, Date, Dimension, Measure, Quantity

__all__ = [
    "Agreement",
    "Comparator",
    "Date",
    "Dimension",
    "Measure",
    "Quantity",
    "Relation",
    "compare",
    "quantities",
    "relation",
]
