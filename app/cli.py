"""The command line: ``spanseek``. Settings become objects here, results become text or one line of JSON."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from threading import Event
from typing import Annotated, NoReturn, cast

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.cli_progress import indexing_progress
from app.composition import make_search, open_store
from app.search.encoders import Encoders
from app.search.types import Hit, Mode, SearchAnswer, SearchRequest, ThresholdOn, answer_as_json
from app.settings import Settings
from indexer.catalog import keys as api_keys
from indexer.catalog import schema
from indexer.engine.wanted import Filter, Grouping
from indexer.errors import CollectionNotFound
from indexer.pipeline import IndexJob, JobHooks
from indexer.segments.manifest import damages
from indexer.sources import BadRecord, Source
from indexer.store import Store
from indexer.types import Recipe
from models.errors import InvalidInput, SpanseekError
from models.types import JsonValue, SpanBounds

cli = typer.Typer(
    name="spanseek",
    help="Finds the phrase, not the page: spans of text that mean the same as an origin phrase.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
keys_cli = typer.Typer(help="API keys: who may search, index and administer.", no_args_is_help=True)
eval_cli = typer.Typer(help="Evaluations: the figures of the README and of the papers.", no_args_is_help=True)
cli.add_typer(keys_cli, name="keys")
cli.add_typer(eval_cli, name="eval")

# Line ends, and what would let a document write escape sequences to the terminal.
_CONTROLS = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029], " ")

_out = Console(highlight=False)
_err = Console(stderr=True, highlight=False)

CollectionOption = Annotated[str, typer.Option("--collection", "-c", help="The collection's name.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one line of JSON, last on standard output.")]


def main() -> None:
    """Run a command; an error that Spanseek foresaw is a sentence and what to do about it, not a traceback."""
    try:
        cli()
    except SpanseekError as error:
        _fail(error)
    except ValidationError as error:
        _fail(_bad_setting(error))


def _bad_setting(error: ValidationError) -> InvalidInput:
    """What pydantic says of a setting, as a sentence."""
    first = error.errors()[0]
    name = "_".join(str(step) for step in first["loc"])
    return InvalidInput(
        f"The setting {name} cannot be {first['input']!r}: {first['msg']}.",
        hint=f"Correct SPANSEEK_{name.upper()} in the environment or in .env, or the option --{name}.",
        field=name,
    )


def _fail(error: SpanseekError) -> NoReturn:
    _err.print(Text(f"Error: {error}", style="red"), soft_wrap=True)
    if error.hint:
        _err.print(error.hint, soft_wrap=True, markup=False)
    raise SystemExit(1)


@contextmanager
def _store(settings: Settings, *, create: bool = False) -> Iterator[Store]:
    """The store, with a checked catalog. The embedded database is made, or brought up to date, by whoever may write."""
    if create and not settings.database_url:
        schema.upgrade(settings.catalog_url)
    store = open_store(settings)
    try:
        schema.check(store.catalog)
        yield store
    finally:
        store.catalog.close()


def _settings(**given: str | int | None) -> Settings:
    """The settings, less what an option of the command overrules."""
    return Settings().model_copy(update={name: value for name, value in given.items() if value is not None})


def _print_json(value: object) -> None:
    # In ASCII: U+0085 and U+2028 end a line too, to some readers, and some terminals write nothing else.
    _out.file.write(json.dumps(value) + "\n")


@cli.command()
def index(
    collection: CollectionOption,
    source: Annotated[Path, typer.Option(help="NDJSON, CSV, Parquet or text file, or a folder of them; also .gz.")],
    encoder: Annotated[str | None, typer.Option(help="Encoder of a new collection.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda.")] = None,
    min_span: Annotated[int | None, typer.Option(help="Shortest span of a new collection, in units (1).")] = None,
    max_span: Annotated[int | None, typer.Option(help="Longest span of a new collection, in units (20).")] = None,
    as_json: JsonOption = False,
) -> None:
    """Index documents into a collection, which is created if need be.

    Documents that are there already, unchanged, are passed over: an interrupted job is resumed by running it again.
    """
    settings = _settings(device=device)
    records = Source(source)
    with _store(settings, create=True) as store:
        made = _recipe_of(store, collection)
        bounds = _bounds(min_span, max_span, made.bounds if made else SpanBounds())
        name = encoder or (made.encoder if made else settings.encoder)
        loaded = Encoders(settings.encoder_options).load(name)
        target = store.catalog.create_collection(collection, Recipe(name, loaded.fingerprint, loaded.dim, bounds))
        with indexing_progress(records, _err) as show, _stop_on_interrupt() as stop:
            hooks = JobHooks(progress=show, bad_record=_report_bad_record, stop=stop.is_set)
            report = IndexJob(store, loaded, target, hooks, segment_units=settings.segment_units).run(records)
    if as_json:
        _print_json(asdict(report))
    else:
        _out.print(
            f"{report.documents:,} documents ({report.units:,} units) indexed into {collection}, "
            f"{report.unchanged:,} unchanged, {report.skipped:,} skipped, in {report.seconds:.1f} s.",
            soft_wrap=True,
        )
    if stop.is_set():
        _err.print("Stopped early. Run the same command again to go on from here.")
        raise typer.Exit(130)


def _recipe_of(store: Store, collection: str) -> Recipe | None:
    """The recipe of a collection that is there already: what its options need not say again."""
    try:
        return store.catalog.collection(collection).recipe
    except CollectionNotFound:
        return None


def _bounds(min_span: int | None, max_span: int | None, default: SpanBounds) -> SpanBounds:
    shortest = default.shortest if min_span is None else min_span
    longest = default.longest if max_span is None else max_span
    try:
        return SpanBounds(shortest, longest)
    except ValueError:
        raise InvalidInput(
            f"Spans cannot have {shortest} to {longest} units.",
            hint="Choose 1 <= --min-span <= --max-span <= 64.",
            field="max_span",
        ) from None


def _report_bad_record(record: BadRecord) -> None:
    _err.print(f"skipped {record.where}: {record.reason}", markup=False, soft_wrap=True)


@contextmanager
def _stop_on_interrupt() -> Iterator[Event]:
    """The first Ctrl-C asks the job to publish what it has and stop; the second ends it on the spot."""
    stop = Event()

    def handle(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        _err.print("Stopping: publishing what has been read. Press Ctrl-C again to drop it.")

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


@cli.command()
def search(
    phrase: Annotated[str, typer.Argument(help="The origin phrase.")],
    collection: CollectionOption,
    top_k: Annotated[int, typer.Option(min=1, max=1000, help="Most hits to show.")] = 10,
    threshold: Annotated[float | None, typer.Option(min=0, max=1, help="Least similarity of a hit.")] = None,
    threshold_on: Annotated[ThresholdOn, typer.Option(help="The scale of the threshold.")] = "score",
    mode: Annotated[Mode, typer.Option(help="How similarity is measured.")] = "best_span",
    group_by: Annotated[Grouping, typer.Option(help="Keep the best span of every part or document.")] = "span",
    where: Annotated[
        list[str] | None, typer.Option(help="Document metadata, KEY=VALUE; VALUE is JSON, or else a string.")
    ] = None,
    where_part: Annotated[list[str] | None, typer.Option(help="Part metadata, KEY=VALUE.")] = None,
    context: Annotated[
        int | None,
        typer.Option(min=0, max=1000, help="Characters of context on either side: 80, or with --json none."),
    ] = None,
    explain: Annotated[bool, typer.Option(help="Show what every unit adds to the cosine.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Find the spans that mean the same as a phrase."""
    settings = Settings()
    request = SearchRequest(
        collection=collection,
        text=phrase,
        mode=mode,
        top_k=top_k,
        group_by=group_by,
        threshold=threshold,
        threshold_on=threshold_on,
        filter=Filter(_key_values(where), _key_values(where_part)),
        context=context if context is not None else 0 if as_json else 80,
        explain=explain,
    )
    with _store(settings) as store:
        (answer,) = make_search(settings, store).search(request)
    if as_json:
        _print_json(answer_as_json(answer))
    else:
        _show(answer)


def _key_values(pairs: list[str] | None) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not equals:
            raise typer.BadParameter(f"{pair!r} is not KEY=VALUE")
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found


def _show(answer: SearchAnswer) -> None:
    if not answer.hits:
        _out.print("No span was found.")
    for hit in answer.hits:
        place = f"  {_one_line(hit.document_id)}  [{hit.start}, {hit.end})"
        _out.print(Text.assemble((f"{hit.score:.3f}", "bold green"), place), soft_wrap=True)
        _out.print(_highlighted(hit), soft_wrap=True)
        if hit.explanation:
            units = (f"{_one_line(unit.text)} {unit.contribution:+.3f}" for unit in hit.explanation.units)
            _out.print(Text("       " + "  ".join(units), style="dim"), soft_wrap=True)
    _out.print(f"{len(answer.hits)} hits in {answer.took_ms:.0f} ms, generation {answer.generation}.", style="dim")


def _highlighted(hit: Hit) -> Text:
    line = Text("       ")
    if hit.context is None:
        return line.append(_one_line(hit.text), "bold reverse")
    before, after = hit.context.text[: hit.context.start], hit.context.text[hit.context.end :]
    return line.append(_one_line(before)).append(_one_line(hit.text), "bold reverse").append(_one_line(after))


def _one_line(text: str) -> str:
    return text.translate(_CONTROLS)


@cli.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address; any but loopback needs an API key first.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port.")] = None,
) -> None:
    """Serve the HTTP API."""
    # Imported here, because only this command needs the web server.
    from app.serving import serve as run_server

    settings = _settings(host=host, port=port)
    if not settings.database_url:
        schema.upgrade(settings.catalog_url)
    run_server(settings)


@cli.command()
def collections(as_json: JsonOption = False) -> None:
    """List the collections."""
    with _store(Settings()) as store:
        found = store.catalog.collections()
    if as_json:
        _print_json([asdict(collection) for collection in found])
        return
    table = Table("collection", "documents", "units", "segments", "MB", "generation", "encoder")
    for item in found:
        counts = (item.documents, item.units, item.segments, item.bytes // 10**6, item.generation)
        table.add_row(item.name, *(f"{count:,}" for count in counts), item.recipe.encoder)
    _out.print(table if found else "There is no collection yet. Make one with: spanseek index")


@cli.command()
def verify(
    collection: Annotated[str | None, typer.Option("--collection", "-c", help="Only this one.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Check every bit of every segment against its checksums."""
    with _store(Settings()) as store:
        found = [store.catalog.collection(collection)] if collection else list(store.catalog.collections())
        segments = [
            (store.folder(item) / live.info.name, live.info.manifest_sha256)
            for item in found
            for live in store.catalog.live(item.name).segments
        ]
    damage = [sentence for folder, sha256 in segments for sentence in damages(folder, sha256)]
    if as_json:
        _print_json({"collections": len(found), "segments": len(segments), "damages": damage})
    else:
        for sentence in damage:
            _err.print(sentence, style="red", markup=False, soft_wrap=True)
        _out.print(f"{len(segments)} segments checked, {len(damage)} damages found.")
    if damage:
        raise typer.Exit(1)


@cli.command()
def init_db() -> None:
    """Create the catalog's tables, or bring them up to date."""
    settings = Settings()
    schema.upgrade(settings.catalog_url)
    _out.print("The catalog is up to date.")


@keys_cli.command("create")
def create_key(
    name: Annotated[str, typer.Option(help="What the key is for.")],
    scope: Annotated[list[str], typer.Option(help="search, index or admin; repeat for several.")],
    collection: Annotated[list[str] | None, typer.Option(help="Only these collections; repeat for several.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Create an API key. It is shown once and stored hashed."""
    with _store(Settings(), create=True) as store:
        key, token = api_keys.create_key(store.catalog, name, cast("list[api_keys.Scope]", scope), collection)
    if as_json:
        _print_json({"id": key.id, "token": token})
    else:
        _out.print(f"Key {key.id}. Send it as `Authorization: Bearer ...`; it cannot be shown again:")
        _out.print(token, soft_wrap=True, markup=False)


@keys_cli.command("list")
def list_keys(as_json: JsonOption = False) -> None:
    """List the API keys, without their secrets."""
    with _store(Settings()) as store:
        found = api_keys.list_keys(store.catalog)
    if as_json:
        _print_json([_key_facts(key) for key in found])
        return
    table = Table("id", "name", "scopes", "collections", "created", "revoked")
    for key in found:
        table.add_row(*(Text(value) for value in _key_facts(key).values()))
    _out.print(table if found else "There are no keys: the server answers anybody, on loopback only.")


def _key_facts(key: api_keys.Key) -> dict[str, str]:
    return {
        "id": key.id,
        "name": key.name,
        "scopes": ", ".join(key.scopes),
        "collections": "all" if key.collections is None else ", ".join(key.collections),
        "created": key.created_at.isoformat(timespec="seconds"),
        "revoked": key.revoked_at.isoformat(timespec="seconds") if key.revoked_at else "",
    }


@keys_cli.command("revoke")
def revoke_key(key_id: Annotated[str, typer.Argument(help="The key's id, as listed.")]) -> None:
    """Revoke an API key, at once."""
    with _store(Settings()) as store:
        api_keys.revoke_key(store.catalog, key_id)
    _out.print(f"Key {key_id} is revoked.")


@eval_cli.command("sample")
def eval_sample(
    samples: Annotated[Path, typer.Option(help="Folder of the sample corpus.")] = Path("samples"),
    encoder: Annotated[str | None, typer.Option(help="Encoder to evaluate.")] = None,
    min_span: Annotated[
        int | None, typer.Option(min=1, help="Shortest span, in units; by default what nine phrases of ten have.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """How often the sample corpus's gold spans are found, beside BM25."""
    from app.evaluation.sample import evaluate_sample

    settings = Settings()
    loaded = Encoders(settings.encoder_options).load(encoder or settings.encoder)
    figures = evaluate_sample(samples, loaded, encoder or settings.encoder, min_span)
    if as_json:
        _print_json(asdict(figures))
        return
    for name, value in asdict(figures).items():
        _out.print(f"{name:14s} {value:.3f}" if isinstance(value, float) else f"{name:14s} {value}")
