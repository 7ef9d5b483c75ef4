"""The classes of answers."""

import re
from collections.abc import Iterator, Sequence

from docs.client_code.schemas import HEAD, Schema, answered, answers_of, docstring, operations_of, simple


def models(document: Schema) -> str:
    """The source of the classes of all answers."""
    schemas = document["components"]["schemas"]
    wanted = sorted(
        set(_reachable(schemas, [schema for each in operations_of(document) for schema in answers_of(each[2])]))
    )
    return (
        HEAD.format(what="The answers of the API")
        + "from __future__ import annotations\n\nfrom datetime import datetime\nfrom typing import Any\n\n"
        + "from pydantic import Field\n\n"
        + "from spanseek.answers import Answer\n\n"
        + "\n".join(_model(name, schemas[name]) for name in wanted)
    )


def _model(name: str, schema: Schema) -> str:
    """The source of one class."""
    lines = [f"class {name}(Answer):", docstring(schema.get("description", name), "    ")]
    required = schema.get("required", ())
    for field, each in schema.get("properties", {}).items():
        kind = answered(each)
        alias = f'Field(alias="{field}")' if field == "from" else ""
        if field not in required:
            kind = kind if kind == "Any" or kind.endswith("None") else f"{kind} | None"
        if kind.endswith("None"):  # absent or null, it is None
            alias = alias or "None"
        lines.append(f"    {field}_: {kind} = {alias}" if field == "from" else f"    {field}: {kind}{_default(alias)}")
        if "description" in each:
            lines.append(docstring(each["description"], "    "))
    return "\n".join(lines) + "\n\n"


def _default(value: str) -> str:
    return f" = {value}" if value else ""


def _reachable(schemas: Schema, roots: Sequence[Schema]) -> Iterator[str]:
    """The names of all classes that answers consist of."""
    waiting, seen = list(roots), set()
    while waiting:
        for name in re.findall(r"'#/components/schemas/(\w+)'", str(waiting.pop())):
            if name not in seen and schemas[name].get("properties"):
                seen.add(name)
                waiting.append({key: simple(each) for key, each in schemas[name]["properties"].items()})
                yield name
