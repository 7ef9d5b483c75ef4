"""Representations by name. A name here enrols the representation in the contract tests.

Each is imported when a collection has it: most collections need none.
"""

import importlib
from functools import cache
from typing import Any, cast

from indexer.representations.base import Representation

# The module of every representation; its REPRESENTATION is what the Protocol describes.
MODULES = {
    "facets": "indexer.facets.representation",
    "nuggets": "indexer.nuggets.representation",
    "restorable": "indexer.restorable.representation",
    "words": "indexer.words.representation",
}


@cache
def representation(name: str) -> Representation[Any]:
    """Import the representation of this name.

    >>> representation("nuggets").name
    'nuggets'
    """
    return cast("Representation[Any]", importlib.import_module(MODULES[name]).REPRESENTATION)
