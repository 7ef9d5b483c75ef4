"""Filters of frameworks as filter expressions of the API, in their form as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from spanseek.errors import SpanseekError

Tree: TypeAlias = dict[str, Any]
_MONGO: Final = {
    "$eq": "=",
    "$ne": "!=",
    "$gt": ">",
    "$gte": ">=",
    "$lt": "<",
    "$lte": "<=",
    "$in": "in",
    "$nin": "not in",
}
_HAYSTACK: Final = {"==": "=", "!=": "!=", ">": ">", ">=": ">=", "<": "<", "<=": "<=", "in": "in", "not in": "not in"}
_HAYSTACK_GROUPS: Final = {"AND": "and", "OR": "or", "NOT": "not"}
# What else a document of Haystack has, and no filter expression asks.
_HAYSTACK_FIELDS: Final = {"content", "blob", "meta", "score", "embedding", "sparse_embedding"}
_LLAMA: Final = _HAYSTACK | {"nin": "not in", "any": "contains any", "all": "contains all", "contains": "contains"}


class FilterNotTranslated(SpanseekError):
    """A filter of a framework asks for what no filter expression says."""


def comparison(key: str, op: str, value: object) -> Tree:
    """A comparison. As in the frameworks, ``!=`` and ``not in`` are true of a missing key, and None is a missing one.

    The server refuses a key that no document of the collection has (``InvalidFilter``), whatever the operator.

    >>> comparison("team", "!=", "B")
    {'not': {'key': 'team', 'op': '=', 'value': 'B'}}
    """
    if op in ("!=", "not in"):
        return {"not": comparison(key, "=" if op == "!=" else "in", value)}
    if value is None and op == "=":
        return {"or": [{"not": {"key": key, "op": "exists"}}, {"key": key, "op": "is null"}]}
    return {"key": key, "op": op, "value": list(value) if isinstance(value, tuple | set) else value}


def joined(operator: str, trees: Sequence[Tree | None]) -> Tree | None:
    """Several conditions as one: ``and``, ``or``, or ``not``, which denies that all are true.

    None is the condition that is always true: an empty one, or none at all.

    >>> joined("or", [{"key": "team", "op": "exists"}, None]) is None
    True
    """
    asked = [tree for tree in trees if tree is not None]
    if operator == "not":
        if not asked:
            raise FilterNotTranslated("An empty condition is always true, so that nothing passes its denial.")
        return {"not": joined("and", asked)}
    if not asked or (operator == "or" and len(asked) < len(trees)):
        return None
    return asked[0] if len(asked) == 1 else {operator: asked}


def of_mongo(filter: Mapping[str, Any] | None) -> Tree | None:
    """A filter as LangChain's stores take it: ``{"year": {"$gte": 2020}, "$or": [...]}``.

    >>> of_mongo({"kind": "call", "year": {"$gte": 2020}})["and"][1]
    {'key': 'year', 'op': '>=', 'value': 2020}
    """
    if not isinstance(filter, Mapping | None):
        raise FilterNotTranslated(f"A condition is a mapping of keys, and not {filter!r}.")
    trees: list[Tree | None] = []
    for key, asked in (filter or {}).items():
        if key in ("$and", "$or"):
            if not isinstance(asked, list | tuple):
                raise FilterNotTranslated(f"{key!r} takes a list of conditions, and not {asked!r}.")
            trees.append(joined(key[1:], [of_mongo(each) for each in asked]))
        elif key == "$not":
            trees.append(joined("not", [of_mongo(asked)]))
        elif isinstance(asked, Mapping):
            trees += [_mongo(key, op, value) for op, value in asked.items()]
        else:
            trees.append(comparison(key, "=", asked))
    return joined("and", trees)


def _mongo(key: str, op: str, value: Any) -> Tree:  # noqa: ANN401
    if op == "$exists":
        exists = {"key": key, "op": "exists"}
        return exists if value else {"not": exists}
    return comparison(key, _known(_MONGO, op), value)


def of_haystack(filter: Mapping[str, Any] | None) -> Tree | None:
    """A filter of Haystack: a comparison of a field, or conditions with an operator.

    Fields are the ``id`` of a document and its metadata, with or without ``meta.``.

    >>> of_haystack({"field": "meta.year", "operator": ">=", "value": 2020})
    {'key': 'year', 'op': '>=', 'value': 2020}
    """
    if not filter:
        return None
    if "conditions" in filter:
        operator = _known(_HAYSTACK_GROUPS, _given(filter, "operator").upper())
        return joined(operator, [of_haystack(each) for each in filter["conditions"]])
    field = _given(filter, "field")
    if field in _HAYSTACK_FIELDS:
        raise FilterNotTranslated(f"Filters ask for the id and the metadata of documents, and not for {field!r}.")
    key = "document.id" if field in ("id", "document_id", "meta.document_id") else field.removeprefix("meta.")
    return comparison(key, _known(_HAYSTACK, _given(filter, "operator")), _given(filter, "value"))


def _given(filter: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401
    if name not in filter:
        raise FilterNotTranslated(f"A filter has no {name!r}: {dict(filter)!r}.")
    return filter[name]


def of_llama_index(filters: Any) -> Tree | None:  # noqa: ANN401  ``MetadataFilters``, whose package need not be there
    """``MetadataFilters`` of LlamaIndex."""
    if filters is None:
        return None
    trees = [
        of_llama_index(each) if hasattr(each, "filters") else _llama(each.key, each.operator.value, each.value)
        for each in filters.filters
    ]
    condition = "and" if filters.condition is None else filters.condition.value
    return joined(condition, trees)


def _llama(key: str, op: str, value: Any) -> Tree:  # noqa: ANN401
    if op == "is_empty":
        return comparison(key, "=", None)
    return comparison(key, _known(_LLAMA, op), value)


def _known(names: Mapping[str, str], op: str) -> str:
    if op not in names:
        raise FilterNotTranslated(f"The operator {op!r} has no counterpart; there are {', '.join(names)}.")
    return names[op]
