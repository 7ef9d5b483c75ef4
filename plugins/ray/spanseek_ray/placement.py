"""The members that hold a segment: rendezvous hashing, the same for every front, without a shared table."""

from functools import lru_cache
from hashlib import blake2b
from typing import Final

# Orders that are remembered: a draw takes a microsecond, and a search asks for the order of every segment.
_ORDERS: Final = 2**16


@lru_cache(_ORDERS)
def ranked(segment: str, members: tuple[str, ...]) -> tuple[str, ...]:
    """The members in the order in which they are to hold a segment, given by the checksum of its manifest.

    Each member draws a number for each segment, and the largest is first. So a member that joins takes over the
    segments for which it draws the largest, and one that leaves is followed by the next of each of its segments:
    nothing else moves.

    >>> ranked("8d2c", ("a", "b", "c")), ranked("8d2c", ("c", "b"))
    (('a', 'c', 'b'), ('c', 'b'))
    """
    return tuple(sorted(members, key=lambda member: _draw(segment, member), reverse=True))


def _draw(segment: str, member: str) -> bytes:
    return blake2b(f"{segment} {member}".encode(), digest_size=8).digest()
