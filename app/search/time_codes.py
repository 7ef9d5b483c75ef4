"""The times of the words of a hit, from the cues that its part was joined from."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from models.types import JsonValue

# The key of the map that ``indexer.sources.turns`` writes: the character at which a cue begins, its start, its end.
CUES: Final = "cues"


def timed(metadata: Mapping[str, JsonValue], start: int, end: int) -> Mapping[str, JsonValue]:
    """The metadata of a part with ``start`` and ``end`` of the cues that some of its characters lie in.

    Metadata without a map of cues stay as they are.

    >>> part = {"start": 1.0, "end": 4.0, "cues": [[0, 1.0, 2.0], [6, 2.5, 3.0], [11, 3.0, 4.0]]}
    >>> timed(part, 7, 10)
    {'start': 2.5, 'end': 3.0}
    >>> timed({"cues": "of the caller"}, 0, 1)
    {'cues': 'of the caller'}
    """
    cues = metadata.get(CUES)
    if not isinstance(cues, list) or not all(_is_cue(cue) for cue in cues):
        return metadata
    bounded = pairwise([*cues, [end]])
    times = [cue[1:] for cue, after in bounded if cue[0] < end and (after[0] > start or after[0] == end)]
    if not times:
        return metadata
    others = {key: value for key, value in metadata.items() if key != CUES}
    return others | {"start": min(first for first, _ in times), "end": max(last for _, last in times)}


def _is_cue(value: object) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(isinstance(number, int | float) for number in value)
