"""How many examples a property is tried on: all of them by ``make test-all``, an eighth by ``make test``."""

import os

# conftest.py removes the settings of the product (SPANSEEK_...) from the environment, not this.
THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"


def examples(thorough: int) -> int:
    """Return the number of examples for the present profile, given that of the thorough one.

    >>> examples(40) in (5, 40)
    True
    """
    return thorough if THOROUGH else max(thorough // 8, 5)
