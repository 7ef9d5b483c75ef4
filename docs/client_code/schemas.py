"""The OpenAPI document: its operations, and its schemas as types of Python."""

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

Schema = Mapping[str, Any]
HEAD: Final = '"""{what}, written by ``python -m docs.generate``: do not edit."""\n\n'
# Fields whose values other distributions extend.
_OPEN: Final = frozenset({"mode", "stemming"})


def operations_of(document: Schema) -> Iterator[tuple[str, str, Schema]]:
    """The method, the path and the description of every operation."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield method.upper(), path, operation


def answers_of(operation: Schema) -> list[Schema]:
    """The schemas of an operation's answers of JSON, without errors."""
    contents = [each.get("content", {}) for code, each in operation["responses"].items() if code < "300"]
    return [content["application/json"]["schema"] for content in contents if "application/json" in content]


def simple(schema: Schema) -> Schema:
    """A schema; alternatives of several objects are any object."""
    objects = [each for each in schema.get("anyOf", ()) if "$ref" in each]
    return schema if len(objects) < 2 else {"anyOf": [{"type": "object"}, {"type": "null"}]}


def answered(schema: Schema) -> str:
    """The type of a value in an answer. Strings are open: a later server may have further values."""
    schema = simple(schema)
    match schema:
        case {"anyOf": kinds}:
            return _union([answered(each) for each in kinds])
        case {"$ref": name}:
            return str(name.rpartition("/")[2])
        case {"prefixItems": kinds}:
            return f"tuple[{', '.join(map(answered, kinds))}]"
        case {"type": "array"}:
            return f"list[{answered(schema.get('items', {}))}]"
        case {"type": "object", "additionalProperties": {"type": kind}}:
            return f"dict[str, {answered({'type': kind})}]"
        case {"type": "object"}:
            return "dict[str, Any]"
    return _scalar(schema, "Any")


def asked(name: str, schema: Schema, schemas: Schema) -> str:
    """The type of an argument."""
    match schema:
        case {"anyOf": kinds}:
            return _union([asked(name, each, schemas) for each in kinds])
        case {"$ref": reference}:
            return asked(name, schemas[reference.rpartition("/")[2]], schemas)
        case {"enum": values} if name not in _OPEN:
            return f"Literal[{', '.join(json.dumps(each) for each in values)}]"
        case {"type": "array"}:
            return f"Sequence[{asked(name, schema.get('items', {}), schemas)}]"
        case {"type": "object"}:
            return "Mapping[str, object]"
    return _scalar(schema, "object")


def _scalar(schema: Schema, otherwise: str) -> str:
    if schema.get("format") == "date-time":
        return "datetime"
    if "const" in schema:
        return type(schema["const"]).__name__
    names = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
    return names.get(schema.get("type", ""), otherwise)


def _union(kinds: Sequence[str]) -> str:
    different = dict.fromkeys(kinds)
    if "Any" in different or "object" in different:
        return "Any" if "Any" in different else "object"
    if "float" in different:
        different.pop("int", None)
    none = different.pop("None", "absent") is None
    return " | ".join([*different, *(["None"] if none else [])])


def docstring(text: str, indent: str) -> str:
    """A docstring of lines that are not too long."""
    first, *rest = text.replace("\\", "\\\\").replace('"""', "'''").splitlines()
    first, *more = textwrap.wrap(first, 100) or [""]
    lines = [first, *more]
    for line in rest:
        lines += textwrap.wrap(line, 110 - len(indent), subsequent_indent="  " * line.startswith("- ")) or [""]
    if len(lines) == 1:
        return f'{indent}"""{lines[0]}{" " * lines[0].endswith(chr(34))}"""'
    return textwrap.indent('"""' + "\n".join(lines) + '\n"""', indent, lambda line: bool(line.strip()))
