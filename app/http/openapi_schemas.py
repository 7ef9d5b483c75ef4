"""Schemas of the OpenAPI document that generators of clients read: each object once, under a name of its own."""

from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]
_REF = "#/components/schemas/{name}"


def share_objects(document: Schema) -> None:
    """Move objects that stand within other schemas to the components, and refer to them.

    A title names one object: raises ``ValueError`` where two objects have one title.

    >>> inner = {"title": "Point", "type": "object", "properties": {"x": {"type": "number"}}}
    >>> outer = {"type": "object", "properties": {"a": dict(inner), "b": {"anyOf": [dict(inner), {"type": "null"}]}}}
    >>> document = {"components": {"schemas": {"Line": outer}}}
    >>> share_objects(document)
    >>> sorted(document["components"]["schemas"]), outer["properties"]["a"]
    (['Line', 'Point'], {'$ref': '#/components/schemas/Point'})
    """
    schemas: Schema = document["components"]["schemas"]
    places = [node for schema in list(schemas.values()) for node in _within(schema)]
    places += _within(document.get("paths", {}))
    for node in reversed(places):  # the inner ones first
        if _is_object(node):
            name, moved = node["title"], dict(node)
            if schemas.setdefault(name, moved) != moved:
                raise ValueError(f"two schemas are named {name}")
            node.clear()
            node["$ref"] = _REF.format(name=name)


def _is_object(node: Schema) -> bool:
    return node.get("type") == "object" and isinstance(node.get("title"), str) and "properties" in node


def _within(node: object) -> Iterator[Schema]:
    """The objects of JSON within one, outer ones first. Examples are no schemas."""
    children: list[object] = []
    if isinstance(node, dict):
        children = [child for key, child in node.items() if key not in ("example", "examples", "default")]
    elif isinstance(node, list):
        children = node
    for child in children:
        if isinstance(child, dict):
            yield child
        yield from _within(child)
