"""Versions of how a text is read: its units, its borders, its words, and the characters that encoders see.

A collection keeps the version it was made with: what it holds and what is asked of it are then read alike.

===========  =======================================================================================================
``text.v1``  words as UAX #29 delimits them, so that ``plan.Thanks`` is one; every line break is a border; encoders see
             the text as it is
``text.v2``  signs end words but for apostrophes within and initials; breaks that only wrap a line are spaces; encoders
             see compatibility forms (ligatures, full width, mathematical letters) as the characters they stand for
===========  =======================================================================================================
"""

from typing import Final, Literal, TypeAlias

TextForm: TypeAlias = Literal["text.v1", "text.v2"]
OLDEST: Final[TextForm] = "text.v1"
NEWEST: Final[TextForm] = "text.v2"
