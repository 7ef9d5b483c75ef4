"""Write the option tables of the documentation and the generated files of the client from the code: ``make docs``.

A table stands between the lines ``<!-- options: NAME -->`` and ``<!-- end -->``; what stands around it is written by
hand. NAME is a route (``POST /search``), a command (``spanseek search``) or ``settings``; ``NAME without OTHER`` leaves
out the options that the other has, too.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin

from typer.main import get_command

from app.cli import cli
from app.http.app import create_app
from app.settings import Settings, settings_classes
from docs import client_code

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("docs/api/*.md")])
_BLOCK = re.compile(r"(?<=<!-- options: )(.+?)( -->\n).*?(?=<!-- end -->)", re.DOTALL)
# Of longer lists of values the description says what they are.
_MOST_VALUES = 8


class Option(NamedTuple):
    """A row of a table."""

    name: str
    default: str
    meaning: str


def updated(text: str) -> str:
    """A page with its tables as the code has them.

    >>> print(updated("<!-- options: DELETE /collections/{collection}/documents -->\\n<!-- end -->"))
    <!-- options: DELETE /collections/{collection}/documents -->
    | field | default | meaning |
    |---|---|---|
    | `id` |  | Id of a document; repeat for several. |
    | `ids` | required | Ids of documents; those that are not there do no harm. |
    <!-- end -->
    """
    return _BLOCK.sub(lambda block: f"{block[1]}{block[2]}{_table(block[1])}", text)


def _table(names: str) -> str:
    name, _, other = names.partition(" without ")
    left_out = {option.name for option in options(other)} if other else set()
    head = "variable" if name == "settings" else "option" if name.startswith("spanseek ") else "field"
    rows = (
        f"| `{each.name}` | {each.default} | {each.meaning} |\n" for each in options(name) if each.name not in left_out
    )
    return f"| {head} | default | meaning |\n|---|---|---|\n{''.join(rows)}"


def options(name: str) -> Iterator[Option]:
    """The options of a route, a command or of the settings, in the order of the code."""
    if name == "settings":
        return _settings()
    first, *rest = name.split()
    return _command(rest) if first == "spanseek" else _route(first, *rest)


def _settings() -> Iterator[Option]:
    fields = [each for kind in settings_classes() for each in kind.model_fields.items()]
    for name, field in fields:
        default = "none" if field.default is None else "empty" if field.default == "" else f"`{field.default}`"
        yield Option(f"SPANSEEK_{name.upper()}", default, field.description or "")


def _command(words: Sequence[str]) -> Iterator[Option]:
    """The arguments and options of a command."""
    command: Any = get_command(cli)
    for word in words:
        command = command.get_command(None, word)
    for each in (each for each in command.params if each.name != "help" and not each.hidden):
        names = [*each.opts, *(each.secondary_opts if each.default is not False else ())]
        if each.param_type_name == "argument":
            names = [name.upper() for name in names]
        meaning = _sentences(each.help, *_values(each))
        yield Option("`, `".join(names), _default(each.default, each.required), meaning)


def _values(parameter: Any) -> Iterator[str]:  # noqa: ANN401
    """The values that a parameter of a command takes."""
    kind = parameter.type_descriptor.annotation
    yield from _range(parameter.min, parameter.max)
    yield from _choice(get_args(kind) if get_origin(kind) is Literal else (), parameter.help)
    if parameter.multiple and "repeat" not in parameter.help:
        yield "Repeat for several"


@cache
def _openapi() -> dict[str, Any]:
    return create_app(Settings(_env_file=None)).openapi()


def _route(method: str, path: str) -> Iterator[Option]:
    """The query parameters of a route and the fields of its body."""
    operation = _openapi()["paths"][path][method.lower()]
    for each in operation.get("parameters", ()):
        if each["in"] == "query":
            yield from _field(each["name"], each["schema"], each["required"])
    content = operation.get("requestBody", {}).get("content", {})
    yield from _fields(content.get("application/json", {}).get("schema", {}))


def _fields(schema: dict[str, Any], prefix: str = "") -> Iterator[Option]:
    schema = _resolved(schema)
    for name, each in schema.get("properties", {}).items():
        yield from _field(prefix + name, each, name in schema.get("required", ()))


def _field(name: str, schema: dict[str, Any], required: bool) -> Iterator[Option]:
    """A field, and the fields of the object that it is."""
    resolved = _resolved(schema)
    description = schema.get("description") or resolved.get("description") or ""
    yield Option(
        name, _default(schema.get("default"), required), _sentences(description, *_limits(resolved, description))
    )
    yield from _fields(resolved, f"{name}.")


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema that another refers to; of alternatives the first that is not null."""
    if "anyOf" in schema:
        return _resolved(next(each for each in schema["anyOf"] if each.get("type") != "null"))
    if "$ref" in schema:
        return _openapi()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def _limits(schema: dict[str, Any], description: str) -> Iterator[str]:
    """The values that a field takes."""
    yield from _range(schema.get("minimum"), schema.get("maximum"))
    yield from _choice(schema.get("enum", ()), description)
    for key, thing in (("maxLength", "character"), ("maxItems", "item"), ("maxProperties", "key")):
        if key in schema:
            yield f"Up to {schema[key]:,} {thing}{'s' if schema[key] > 1 else ''}"


def _range(least: float | None, most: float | None) -> Iterator[str]:
    if least is not None and most is not None:
        yield f"{least:,.10g} to {most:,.10g}"
    elif least:
        yield f"At least {least:,.10g}"
    elif most is not None:
        yield f"At most {most:,.10g}"


def _choice(values: Sequence[str], description: str) -> Iterator[str]:
    if 1 < len(values) <= _MOST_VALUES and not all(f"`{each}`" in description for each in values):
        yield f"One of {', '.join(f'`{each}`' for each in values)}"


def _sentences(*parts: str) -> str:
    """Sentences in a cell of a table."""
    return " ".join(f"{each.rstrip('.')}." for each in parts if each).replace("|", "\\|")


def _default(value: object, required: bool) -> str:
    if required:
        return "required"
    return "" if _is_empty(value) else f"`{value if isinstance(value, str) else json.dumps(value)}`"


def _is_empty(value: object) -> bool:
    """True if a default says nothing: an option is absent, off or without elements."""
    if isinstance(value, dict):
        return all(map(_is_empty, value.values()))
    return value is None or value is False or value == "" or value == [] or value == ()


def main() -> None:
    """Rewrite the tables of all pages, and the generated files of the client."""
    client_code.main()
    for page in PAGES:
        page.write_text(updated(page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
