"""Whether everybody may ask, remembered for a moment: looking it up at every request would cost more than HTTP does.

Only that is remembered. A key is looked up whenever it is shown, so that a revoked one opens nothing any more.
"""

import time
from collections.abc import Callable

# How long a server that asked nobody for a key may go on so after the first key was made.
FRESH_S = 0.25


class Doors:
    """Open to everybody for ``FRESH_S`` after no key was found to be in use.

    >>> doors = Doors(clock=iter([0.0, 0.1, 0.3]).__next__)
    >>> doors.found_open()
    >>> doors.are_open(), doors.are_open()
    (True, False)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._found_open = -FRESH_S

    def are_open(self) -> bool:
        """Whether it was found a moment ago that nobody needs a key."""
        return self._clock() - self._found_open < FRESH_S

    def found_open(self) -> None:
        """Nobody needs a key, as of now."""
        self._found_open = self._clock()
