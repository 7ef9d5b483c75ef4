"""Options of the command line, made of the fields of requests (``app.requests``), and metadata filters.

An option is described once, for HTTP and for the command line.
"""

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import typer
from annotated_types import Ge, Le
from pydantic.fields import FieldInfo
from typer.models import OptionInfo

from app.recipes import RepresentationOptions, choices
from app.requests import MAX_CONTEXT
from indexer.engine.query import Filter
from indexer.filters.strings import parsed
from indexer.representations.registry import representations
from models.types import JsonValue

if TYPE_CHECKING:
    from app.collections.recipes import CollectionOptions

Command = TypeVar("Command", bound=Callable[..., None])

# Characters of context that are shown where the command does not say how many.
SHOWN_CONTEXT = 80
ContextOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=MAX_CONTEXT,
        help=f"Characters of context on either side, within the part: {SHOWN_CONTEXT}, or with `--json` and for "
        "documents none.",
    ),
]
_WHERE = typer.Option(
    "--where",
    help="Document metadata, `KEY=VALUE`; VALUE is JSON, or else a string. A list matches by its elements; repeat for "
    "several, all of which must hold.",
)
_WHERE_PART = typer.Option("--where-part", help="Metadata of the part, in the same way; repeat for several.")
_FILTER = typer.Option(
    "--filter",
    metavar="EXPRESSION",
    help='What must be true of the metadata, such as `duration >= 600 and not part.speaker = "agent"`; together with '
    "the other conditions.",
)
_WITH = typer.Option(
    "--with",
    metavar="NAME[=VALUE]",
    help=f"Store a representation: {', '.join(f'`{name}`' for name in representations())}; also with the value of its "
    "option, or with a JSON object of its options; repeat for several.",
)
_WITHOUT = typer.Option(metavar="NAME", help="Do not store a representation; repeat for several.")


def with_options(**left_out: tuple[str, ...]) -> Callable[[Command], Command]:
    """A decorator of commands, which makes an option of every field of a parameter that is a dataclass.

    A keyword names those fields of a parameter that are no options of the command; they keep their defaults.

    >>> from app.requests import SpanChoice
    >>> @with_options(spans=("boundaries",))
    ... def show(spans: SpanChoice) -> None:
    ...     print(spans)
    >>> show(min_units=2)
    SpanChoice(min_units=2, max_units=None, boundaries='any')
    """

    def decorate(command: Command) -> Command:
        hints = get_type_hints(command, include_extras=True)
        kinds = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
        parameters: list[inspect.Parameter] = []
        for name, parameter in inspect.signature(command).parameters.items():
            if name in kinds:
                parameters += _parameters(hints[name], left_out.get(name, ()))
            else:
                parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))

        @wraps(command)
        def run(**given: Any) -> None:  # noqa: ANN401
            read = {name: _read(kind, given, left_out.get(name, ())) for name, kind in kinds.items()}
            own = {name: given[name] for name in hints if name in given and name not in read}
            command(**own, **read)

        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run  # type: ignore[return-value]

    return decorate


def _parameters(kind: Any, left_out: tuple[str, ...]) -> Iterator[inspect.Parameter]:  # noqa: ANN401
    """The options of a dataclass and of the dataclasses within it."""
    if kind is Filter:
        yield _parameter("where", Annotated[list[str] | None, _WHERE], None)
        yield _parameter("where_part", Annotated[list[str] | None, _WHERE_PART], None)
        yield _parameter("expression", Annotated[str | None, _FILTER], None)
        return
    plain, annotated = get_type_hints(kind), get_type_hints(kind, include_extras=True)
    for each in (each for each in fields(kind) if each.name not in left_out):
        if is_dataclass(plain[each.name]):
            yield from _parameters(plain[each.name], left_out)
        else:
            option, words = _option(annotated[each.name]), _words(plain[each.name])
            if words:
                option = number_or_word(*words, option=option)
            kind_of_option = Any if words else _kind_of_option(plain[each.name])
            yield _parameter(each.name, Annotated[kind_of_option, option], _default(each))


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:  # noqa: ANN401
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _is_repeated(kind: Any) -> bool:  # noqa: ANN401
    """True for a tuple of any length: an option that may be given several times."""
    return get_origin(kind) is tuple and get_args(kind)[1:] == (Ellipsis,)


def _kind_of_option(kind: Any) -> Any:  # noqa: ANN401
    return list[get_args(kind)[0]] | None if _is_repeated(kind) else kind  # type: ignore[misc]


def _default(each: "Field[Any]") -> Any:  # noqa: ANN401
    if each.default == ():
        return None
    return inspect.Parameter.empty if each.default is MISSING else each.default


def _option(annotation: Any) -> Any:  # noqa: ANN401
    """The option that a field is annotated with, or that its description and limits make."""
    given = next((each for each in get_args(annotation) if isinstance(each, OptionInfo)), None)
    if given is not None:
        return given
    info = next((each for each in get_args(annotation) if isinstance(each, FieldInfo)), None)
    limits = dict(_limits(annotation))
    text = "" if info is None else (info.description or "")
    return typer.Option(help=text, min=limits.get("min"), max=limits.get("max"))


def _words(kind: Any) -> tuple[str, ...]:  # noqa: ANN401
    """The words that may stand for a number, such as ``auto``; none for other kinds of values."""
    members = get_args(kind)
    words = next((get_args(each) for each in members if get_origin(each) is Literal), ())
    return words if float in members else ()


def number_or_word(*words: str, option: Any) -> Any:  # noqa: ANN401
    """An option whose value is a number or one of some words."""
    option.parser, option.metavar = partial(_number_or_word, words), f"<number|{'|'.join(words)}>"
    return option


def _number_or_word(words: tuple[str, ...], text: str) -> float | str:
    """The value of an option that is a number or one of some words."""
    try:
        return text if text in words else float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a number nor {' or '.join(words)}.") from None


def _limits(annotation: Any) -> Iterator[tuple[str, float]]:  # noqa: ANN401
    """The least and the greatest value that an annotation allows, however deep they stand in it."""
    for each in get_args(annotation):
        for limit in each.metadata if isinstance(each, FieldInfo) else (each,):
            if isinstance(limit, Ge):
                yield "min", limit.ge  # type: ignore[misc]
            elif isinstance(limit, Le):
                yield "max", limit.le  # type: ignore[misc]
            else:
                yield from _limits(limit)


def _read(kind: Any, given: Mapping[str, Any], left_out: tuple[str, ...]) -> Any:  # noqa: ANN401
    """A dataclass of the options that were given; fields that are no options keep their defaults."""
    if kind is Filter:
        return filter_of(given.get("where"), given.get("where_part"), given.get("expression"))
    plain = get_type_hints(kind)
    values = {
        each.name: _read(plain[each.name], given, left_out)
        if is_dataclass(plain[each.name])
        else _value(plain[each.name], given[each.name])
        for each in fields(kind)
        if each.name not in left_out and (each.name in given or is_dataclass(plain[each.name]))
    }
    return kind(**values)


def _value(kind: Any, given: Any) -> Any:  # noqa: ANN401
    """The value of an option, which typer gives as a list if it may be repeated."""
    return tuple(given or ()) if _is_repeated(kind) else given


@dataclass(frozen=True, kw_only=True)
class RecipeChoice(RepresentationOptions):
    """The recipe that a command asks for; an option without a value keeps the collection's, or else the default."""

    with_: Annotated[list[str] | None, _WITH] = None
    without: Annotated[list[str] | None, _WITHOUT] = None
    encoder: Annotated[
        str | None,
        typer.Option(
            help="The encoder, also `untrained@BACKBONE`; without one the collection's, or else `SPANSEEK_ENCODER`."
        ),
    ] = None
    min_span: Annotated[int | None, typer.Option(help="The shortest span, in units; 1 in a new collection.")] = None
    max_span: Annotated[
        int | None, typer.Option(help="The longest span, in units, at most 64; 20 in a new collection.")
    ] = None

    def options(self, texts: Iterable[str] | None = None, *, as_trained: bool = False) -> "CollectionOptions":
        """The options for the service. Raises ``InvalidInput`` for representations that cannot be."""
        from app.collections.recipes import CollectionOptions

        chosen = replace(self, representations=choices(self.with_ or (), self.without or ())).chosen()
        return CollectionOptions(
            self.encoder,
            self.min_span,
            self.max_span,
            texts,
            as_trained=as_trained,
            representations=chosen,
            store_text=self.store_text,
        )


def filter_of(where: list[str] | None, where_part: list[str] | None, expression: str | None) -> Filter:
    """The filter of ``--where``, ``--where-part`` and ``--filter`` together.

    >>> filter_of(["week=7", "lang=en"], None, None).document
    {'week': 7, 'lang': 'en'}
    """
    read = None if expression is None else parsed(expression)
    return Filter(key_values(where), key_values(where_part), read)


def key_values(pairs: list[str] | None) -> dict[str, JsonValue]:
    """The values of ``KEY=VALUE``, which are JSON or else strings."""
    values: dict[str, JsonValue] = {}
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not equals or key.endswith(("<", ">", "!")):
            raise typer.BadParameter(f"{pair!r} is not KEY=VALUE; comparisons go to --filter")
        try:
            values[key] = json.loads(value)
        except ValueError:
            values[key] = value
    return values
