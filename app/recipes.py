"""Recipe options of requests, declared once for HTTP, the command line, tasks and Python.

Representations declare their options themselves (``indexer.representations.base``). ``representations`` has them by
name; the older fields of some representations, their aliases, say the same.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, Final, TypeAlias, get_args, get_type_hints

from pydantic import ConfigDict, GetJsonSchemaHandler, TypeAdapter, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from app.answers import described, extended
from app.requests import STRICT, option
from indexer.representations.base import Representation
from indexer.representations.registry import GROUP, representations
from models.entry_points import EXTRAS
from models.errors import ExtraMissing, InvalidInput

# The options of a representation by name; None where it is not wanted.
Choice: TypeAlias = dict[str, Any] | None
_FIELD: Final = "representations"


class _Choices:
    """Describes the options of all representations in the OpenAPI document."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        choices = {
            name: {
                "anyOf": [TypeAdapter(each.options).json_schema() | {"additionalProperties": False}, {"type": "null"}],
                "description": each.description,
            }
            for name, each in representations().items()
        }
        return {"type": "object", "properties": choices, "additionalProperties": False}


def _aliases() -> dict[str, Any]:
    return {each.alias: _alias(each) for each in representations().values() if each.alias}


def _alias(each: Representation[Any]) -> Any:  # noqa: ANN401
    """The annotation of an older field: the first option's, or a flag's."""
    for annotation in get_type_hints(each.options, include_extras=True).values():
        kind, *metadata = get_args(annotation)
        return Annotated[(kind | None, *metadata)]
    return Annotated[bool | None, option(each.description)]


@dataclass(frozen=True, kw_only=True)
@extended(_aliases(), after="store_text", default=None)
class RepresentationOptions:
    """The representations of a collection; without a value the present ones, or else the defaults."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    representations: Annotated[
        Annotated[dict[str, Choice], _Choices()] | None,
        described("Representations to store by name, each with its options; null for one that is not to be stored."),
    ] = None
    store_text: Annotated[
        bool | None, option("Store texts; without them the texts of hits are restored from vectors, and may differ.")
    ] = None

    def chosen(self) -> dict[str, Choice]:
        """The options of every representation that the request speaks of, whichever way it does.

        Raises ``InvalidInput`` for unknown names, values that cannot be, and an alias that says otherwise.

        >>> RepresentationOptions(representations={"words": {}}).chosen()
        {'words': {}}
        """
        given: dict[str, Choice] = dict(self.representations or {})
        for name, choice in given.items():
            read_options(known(name), choice, f"{_FIELD}.{name}")
        for name, choice in self._by_alias():
            each = representations()[name]
            read_options(each, choice, each.alias)
            if _differ(given.get(name, choice), choice):
                raise InvalidInput(
                    f"The options {each.alias} and {_FIELD} say different things of {name}.",
                    hint="Give one of both.",
                    field=each.alias,
                )
            given[name] = None if choice is None else {**(given.get(name) or {}), **choice}
        return given

    def _by_alias(self) -> Iterator[tuple[str, Choice]]:
        for name, each in representations().items():
            value = getattr(self, each.alias, None) if each.alias else None
            if value is not None:
                yield name, first_option(each, value) if fields(each.options) else {} if value else None


def _differ(one: Choice, other: Choice) -> bool:
    return {**one, **other} != {**other, **one} if one is not None and other is not None else one is not other


def known(name: str) -> Representation[Any]:
    """The representation of this name. Raises ``InvalidInput`` for an unknown one, ``ExtraMissing`` for an absent one.

    >>> known("wrods")
    Traceback (most recent call last):
    models.errors.InvalidInput: There is no representation 'wrods'.
    """
    if name not in representations():
        if name in EXTRAS[GROUP]:
            raise ExtraMissing(f"The representation {name} needs", EXTRAS[GROUP][name])
        near = "".join(f"Did you mean {each}? " for each in get_close_matches(name, representations(), 1))
        raise InvalidInput(
            f"There is no representation {name[:80]!r}.",
            hint=f"{near}Known are {', '.join(representations())}.",
            field=_FIELD,
        )
    return representations()[name]


def read_options(each: Representation[Any], choice: Choice, field: str) -> Any:  # noqa: ANN401
    """The options of a representation as an object of its own class; None where it is not wanted.

    Raises ``InvalidInput`` for values that it does not take.
    """
    if choice is None:
        return None
    names = [option.name for option in fields(each.options)]
    try:
        unknown = [name for name in choice if name not in names]
        if unknown:
            takes = f"takes {', '.join(names)}" if names else "takes none"
            raise InvalidInput(f"{each.name} has no option {unknown[0][:80]!r}.", hint=f"It {takes}.")
        return TypeAdapter(each.options).validate_python(choice)
    except InvalidInput as error:
        raise InvalidInput(str(error), hint=error.hint, field=field) from error
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        raise InvalidInput(f"The option {name} of {each.name} is invalid: {first['msg']}.", field=field) from error


def first_option(each: Representation[Any], value: object) -> dict[str, Any]:
    """The options that a single value stands for. Raises ``InvalidInput`` for a representation without options."""
    for field in fields(each.options):
        return {field.name: value}
    raise InvalidInput(f"{each.name} takes no value.", hint=f"Name {each.name} alone.", field=_FIELD)


def choices(wanted: Iterable[str], unwanted: Iterable[str]) -> dict[str, Choice]:
    """The choices that the command line names: ``NAME`` or ``NAME=VALUE``, and names of what is not wanted.

    ``VALUE`` is JSON: an object of options, or the value of the first option.

    >>> choices(["words"], []), choices([], ["words"])
    ({'words': {}}, {'words': None})
    """
    read = dict(map(_read_choice, wanted))
    for name in unwanted:
        if known(name).name in read:
            raise InvalidInput(f"{name} is both wanted and not.", hint="Say one of both.", field=_FIELD)
        read[name] = None
    return read


def _read_choice(text: str) -> tuple[str, Choice]:
    name, equals, value = text.partition("=")
    each = known(name)
    if not equals:
        return name, {}
    try:
        parsed = json.loads(value)
    except ValueError:
        parsed = value
    return name, parsed if isinstance(parsed, dict) else first_option(each, parsed)
