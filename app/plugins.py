"""The installed plug-ins: distributions that add to Spanseek by entry points. Listing them loads nothing of them."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib.metadata import EntryPoint
from typing import TypeAlias

from models.entry_points import entry_points_of

Points: TypeAlias = Mapping[str, EntryPoint]


@dataclass(frozen=True, slots=True)
class Plugin:
    """A distribution and its entry points, by name; each field is a group, such as ``spanseek.sources``."""

    name: str
    documents: Points = field(default_factory=dict)
    sources: Points = field(default_factory=dict)
    segments: Points = field(default_factory=dict)
    encoders: Points = field(default_factory=dict)
    representations: Points = field(default_factory=dict)
    executors: Points = field(default_factory=dict)
    index_engines: Points = field(default_factory=dict)
    modes: Points = field(default_factory=dict)
    commands: Points = field(default_factory=dict)
    routes: Points = field(default_factory=dict)
    tasks: Points = field(default_factory=dict)
    services: Points = field(default_factory=dict)
    settings: Points = field(default_factory=dict)
    tables: Points = field(default_factory=dict)


def plugins() -> tuple[Plugin, ...]:
    """All that are installed, by name; the core, which has entry points of its own, is none."""
    found: defaultdict[str, defaultdict[str, dict[str, EntryPoint]]] = defaultdict(lambda: defaultdict(dict))
    for group in (each.name for each in fields(Plugin)[1:]):
        for name, point in entry_points_of(f"spanseek.{group}").items():
            found[point.dist.name if point.dist else ""][group][name] = point
    found.pop("spanseek", None)
    return tuple(Plugin(name, **found[name]) for name in sorted(found))
