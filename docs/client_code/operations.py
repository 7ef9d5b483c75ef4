"""The methods of operations."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from docs.client_code.schemas import HEAD, Schema, answered, answers_of, asked, docstring, operations_of

# Operations that can be repeated without harm although they are neither GET, PUT nor DELETE.
_REPEATABLE: Final = frozenset(
    [
        "search",
        "search_batch",
        "search_collections",
        "export_hits",
        "find_spans",
        "compare",
        "summarize",
        "make_vectors",
        "restore",
        "preview_threshold",
        "put_documents",
        "delete_documents_by_filter",
    ]
)
# Bodies that are sent as they are read.
_STREAMED: Final = ("application/x-ndjson", "application/octet-stream")


def operations(document: Schema) -> str:
    """The source of the class with a method for every operation."""
    schemas = document["components"]["schemas"]
    methods = (_operation(method, path, each, schemas) for method, path, each in operations_of(document))
    return (
        HEAD.format(what="A method for every operation of the API")
        + "from collections.abc import AsyncIterator, Mapping, Sequence\nfrom datetime import datetime\n"
        + "from typing import Any, Literal\n\n"
        + "from spanseek import models\nfrom spanseek.answers import read\n"
        + "from spanseek.asynchronous.transport import AsyncTransport, Content\nfrom spanseek.paths import quoted\n\n\n"
        + 'class AsyncApi:\n    """All operations of the API. An argument that is None is not sent.\n\n'
        + '    Every method raises the errors of ``spanseek.errors``.\n    """\n\n'
        + "    def __init__(self, transport: AsyncTransport) -> None:\n        self._transport = transport\n\n"
        + "\n".join(methods)
    )


def _operation(method: str, path: str, operation: Schema, schemas: Schema) -> str:
    """The source of one method."""
    name = operation["operationId"]
    parameters = operation.get("parameters", ())
    in_path = [each["name"] for each in parameters if each["in"] == "path"]
    query = [(each["name"], each["schema"], each.get("required"), each) for each in parameters if each["in"] == "query"]
    content = operation.get("requestBody", {}).get("content", {})
    sent = next((each for each in _STREAMED if each in content), "")
    streamed = bool(sent)
    body = [] if streamed else _body(content, schemas)
    whole = bool(content) and not streamed and not body
    clash = {each[0] for each in query} & {each[0] for each in body}
    body = [(f"{each[0]}s" if each[0] in clash else each[0], *each[1:]) for each in body]
    arguments = [f"{each}: str" for each in in_path]
    arguments += ["content: Content"] * streamed + ["body: Mapping[str, object]"] * whole
    named = [_argument(each, schemas) for each in [*body, *query]]
    named += [f'content_type: str = "{sent}"', "content_encoding: str | None = None"] * streamed
    arguments += ["*", *sorted(named, key=lambda each: " = " in each)] if named else []
    step = re.sub(r"{(.+?)}", r"{quoted(\1)}", path)
    call = [f'"{method}"', f'f"{step}"' if in_path else f'"{path}"']
    call += [f"params={_mapping(each[0] for each in query)}"] if query else []
    call += [f"json={_mapping(each[0] for each in body)}"] if body else ["json=body"] * whole
    nulls = [each[0] for each in body if each[2] and asked(each[0], each[1], schemas).endswith("None")]
    call += [f"nulls={nulls}"] if nulls else []
    call += ["content=content, content_type=content_type, content_encoding=content_encoding"] * streamed
    call += ["repeatable=True"] if method in ("GET", "PUT", "DELETE") or name in _REPEATABLE else []
    says = docstring(_meaning(operation, [*body, *query]), "        ")
    asynchronous, kind, code = _returned(operation, ", ".join(call))
    define = "async def" if asynchronous else "def"
    return f"    {define} {name}({', '.join(['self', *arguments])}) -> {kind}:\n{says}\n{code}\n"


def _returned(operation: Schema, call: str) -> tuple[bool, str, str]:
    """True if a method is a coroutine; its type; and its code."""
    kinds = [answered(schema) for schema in answers_of(operation)]
    named = (f"models.{kind}" if kind[0].isupper() and kind != "Any" else kind for kind in kinds)
    different = dict.fromkeys(named)
    if len(different) == 1:
        (kind,) = different
        return True, kind, f"        return read({kind}, (await self._transport.request({call})).content)"
    if different:
        first, second = different
        return (
            True,
            " | ".join(different),
            (
                f"        response = await self._transport.request({call})\n"
                f"        if response.status_code == 202:\n            return read({second}, response.content)\n"
                f"        return read({first}, response.content)"
            ),
        )
    types = {kind for code, each in operation["responses"].items() if code < "300" for kind in each.get("content", {})}
    if "application/x-ndjson" in types:
        return False, "AsyncIterator[dict[str, Any]]", f"        return self._transport.lines({call})"
    if "text/event-stream" in types:
        return False, "AsyncIterator[dict[str, str]]", f"        return self._transport.events({call})"
    if "text/plain" in types:
        return True, "str", f"        return (await self._transport.request({call})).text"
    return False, "AsyncIterator[bytes]", f"        return self._transport.pieces({call})"


def _body(content: Schema, schemas: Schema) -> list[tuple[str, Schema, bool, Schema]]:
    """The fields of a body that is one object."""
    schema = content.get("application/json", {}).get("schema", {})
    if "anyOf" in schema:  # a body that may be absent
        schema = next(each for each in schema["anyOf"] if each.get("type") != "null")
    schema = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    required = schema.get("required", ())
    return [(name, each, name in required, each) for name, each in schema.get("properties", {}).items()]


def _argument(field: tuple[str, Schema, bool, Schema], schemas: Schema) -> str:
    name, schema, required, _ = field
    kind = asked(name, schema, schemas)
    if required:
        return f"{name}: {kind}"
    return f"{name}: {kind if kind == 'object' or kind.endswith('None') else f'{kind} | None'} = None"


def _mapping(names: Iterator[str]) -> str:
    return "{" + ", ".join(f'"{name}": {name}' for name in names) + "}"


def _meaning(operation: Schema, fields: Sequence[tuple[str, Schema, bool, Schema]]) -> str:
    """The docstring of a method: what it does, and what its arguments are for."""
    said = {name: each.get("description") or schema.get("description") for name, schema, _, each in fields}
    lines = [operation.get("description") or operation["summary"], ""]
    lines += [f"- ``{name}``: {' '.join(meaning.split())}" for name, meaning in said.items() if meaning]
    return "\n".join(lines).strip()
