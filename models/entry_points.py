"""Entry points: what installed distributions add to Spanseek, by group and name.

They are read once, which takes longer than most imports. Nothing is loaded before it is asked for.
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Final

# The extra of ``spanseek`` that installs what a name stands for, by group and name.
EXTRAS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "spanseek.commands": {"cluster": "ray", "compare": "facets", "summarize": "facets", "webhooks": "webhooks"},
        "spanseek.modes": {"facets": "facets"},
        "spanseek.representations": {"facets": "facets"},
    }
)


@cache
def installed() -> Mapping[str, Mapping[str, EntryPoint]]:
    """The entry points of all groups that begin with ``spanseek.``, by group and name, in the order of the names."""
    found = entry_points()
    groups = {group: found.select(group=group) for group in found.groups if group.startswith("spanseek.")}
    return {group: {name: points[name] for name in sorted(points.names)} for group, points in groups.items()}


def entry_points_of(group: str) -> Mapping[str, EntryPoint]:
    """The entry points of a group by name.

    >>> entry_points_of("spanseek.modes")["lexical"].value
    'app.search.modes.lexical:Lexical'
    """
    return installed().get(group, {})
