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
_LLAMA: Final = _HAYSTACK | {"nin": "not in", "any": "contains any", "all": "contains all", "contains": "contains"}


class FilterNotTranslated(SpanseekError):
    """A filter of a framework asks for what no filter expression says."""


def comparison(key: str, op: str, value: object) -> Tree:
    """A comparison. As in the frameworks, ``!=`` and ``not in`` are true of a missing key, and None is a missing one.

    >>> comparison("team", "!=", "B")
    {'not': {'key': 'team', 'op': '=', 'value': 'B'}}
    """
    if op in ("!=", "not in"):
        return {"not": comparison(key, "=" if op == "!=" else "in", value)}
    if value is None and op == "=":
        return {"or": [{"not": {"key": key, "op": "exists"}}, {"key": key, "op": "is null"}]}
    return {"key": key, "op": op, "value": list(value) if isinstance(value, tuple | set) else value}


def joined(operator: str, trees: Sequence[Tree]) -> Tree | None:
    """Several conditions as one: ``and``, ``or``, or ``not``, which denies that all are true. None without any."""
    if not trees:
        return None
    if operator == "not":
        return {"not": joined("and", trees)}
    return trees[0] if len(trees) == 1 else {operator: list(trees)}


def of_mongo(filter: Mapping[str, Any] | None) -> Tree | None:
    """A filter as LangChain's stores take it: ``{"year": {"$gte": 2020}, "$or": [...]}``.

    >>> of_mongo({"kind": "call", "year": {"$gte": 2020}})["and"][1]
    {'key': 'year', 'op': '>=', 'value': 2020}
    """
    trees: list[Tree | None] = []
    for key, asked in (filter or {}).items():
        if key in ("$and", "$or"):
            trees.append(joined(key[1:], [tree for each in asked if (tree := of_mongo(each))]))
        elif key == "$not":
            trees.append(joined("not", [tree for tree in [of_mongo(asked)] if tree]))
        elif isinstance(asked, Mapping):
            trees += [_mongo(key, op, value) for op, value in asked.items()]
        else:
            trees.append(comparison(key, "=", asked))
    return joined("and", [tree for tree in trees if tree])


def _mongo(key: str, op: str, value: Any) -> Tree:  # noqa: ANN401
    if op == "$exists":
        exists = {"key": key, "op": "exists"}
        return exists if value else {"not": exists}
    return comparison(key, _known(_MONGO, op), value)


def of_haystack(filter: Mapping[str, Any] | None) -> Tree | None:
    """A filter of Haystack: a comparison of a field, or conditions with an operator.

    >>> of_haystack({"field": "meta.year", "operator": ">=", "value": 2020})
    {'key': 'year', 'op': '>=', 'value': 2020}
    """
    if not filter:
        return None
    if "conditions" in filter:
        trees = [tree for each in filter["conditions"] if (tree := of_haystack(each))]
        return joined(filter["operator"].lower(), trees)
    key = filter["field"].removeprefix("meta.")
    return comparison(
        "document.id" if key == "document_id" else key, _known(_HAYSTACK, filter["operator"]), filter["value"]
    )


def of_llama_index(filters: Any) -> Tree | None:  # noqa: ANN401  ``MetadataFilters``, whose package need not be there
    """``MetadataFilters`` of LlamaIndex."""
    if filters is None:
        return None
    trees = [
        of_llama_index(each) if hasattr(each, "filters") else _llama(each.key, each.operator.value, each.value)
        for each in filters.filters
    ]
    condition = "and" if filters.condition is None else filters.condition.value
    return joined(condition, [tree for tree in trees if tree])


def _llama(key: str, op: str, value: Any) -> Tree:  # noqa: ANN401
    if op == "is_empty":
        return comparison(key, "=", None)
    return comparison(key, _known(_LLAMA, op), value)


def _known(names: Mapping[str, str], op: str) -> str:
    if op not in names:
        raise FilterNotTranslated(f"The operator {op!r} has no counterpart; there are {', '.join(names)}.")
    return names[op]
