"""``spanseek eval span-retrieval`` and ``spanseek eval convert``: gold spans of real data, and where they come from."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from app.cli.console import JsonOption, err, out, print_json
from app.collections.bounds import span_bounds
from app.encoders.encoders import Encoders
from app.requests import Boundaries, ModeName, Ranking
from app.settings import Settings

if TYPE_CHECKING:
    from research.evaluation.retrieval_metrics import RetrievalFigures


def eval_span_retrieval(
    data: Annotated[Path, typer.Option(help="Documents, as `spanseek index` takes them.")],
    queries: Annotated[Path, typer.Option(help="NDJSON file of queries with gold spans.")],
    encoder: Annotated[str | None, typer.Option(help="Encoder to evaluate.")] = None,
    min_span: Annotated[int, typer.Option(help="Shortest span, in units.")] = 1,
    max_span: Annotated[int, typer.Option(help="Longest span, in units.")] = 20,
    baseline: Annotated[
        list[str] | None, typer.Option(help="Another encoder to set beside it; repeat for several.")
    ] = None,
    sentences: Annotated[
        list[str] | None,
        typer.Option(help="An encoder that reads every sentence alone, to set beside it; repeat for several."),
    ] = None,
    ranking: Annotated[
        Ranking, typer.Option(help="Rank spans by their span score, or by the cosine alone.")
    ] = "span_score",
    boundaries: Annotated[Boundaries, typer.Option(help="Search for any span, or for whole ones.")] = "any",
    mode: Annotated[ModeName, typer.Option(help="The search mode to evaluate.")] = "best_span",
    nugget_ratio: Annotated[
        float | None, typer.Option(help="Keep nuggets, which mode maxsim needs: this share of all tokens.")
    ] = None,
    verify: Annotated[int, typer.Option(min=0, max=100, help="So many hits are read by the second look.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Measure how often the gold spans of queries, and their documents, are found in a corpus, beside BM25."""
    from research.evaluation.corpus import read_corpus
    from research.evaluation.queries import read_queries
    from research.evaluation.retrieval_metrics import measure, reachable
    from research.evaluation.span_retrieval import Setup, bm25_answers, search_answers, sentence_answers

    settings = Settings()
    bounds = span_bounds(min_span, max_span)
    name = encoder or settings.encoder
    corpus = read_corpus(data)
    span_queries = read_queries(queries, corpus)
    results = {"bm25": measure(corpus, span_queries, bm25_answers(corpus, corpus.sentences(), span_queries))}
    with _scratch_encoders(settings) as encoders:
        for each in (name, *(baseline or ())):
            with err.status(f"{each}: {len(corpus.documents)} documents, {len(span_queries)} queries"):
                setup = Setup(each, bounds, mode, ranking, boundaries, nugget_ratio, verify=verify)
                answers = search_answers(corpus, span_queries, encoders, setup)
                results[each] = measure(corpus, span_queries, answers)
        for each in sentences or ():
            with err.status(f"{each}: sentences of {len(corpus.documents)} documents"):
                alone = sentence_answers(corpus, corpus.sentences(), span_queries, encoders.load(each))
                results[f"{each}, sentences alone"] = measure(corpus, span_queries, alone)
    within_reach = reachable(corpus, span_queries, bounds)
    if as_json:
        baselines = {each: asdict(figures) for each, figures in results.items() if each != name}
        print_json(
            {"queries": len(span_queries), "reachable": within_reach, **asdict(results[name]), "baselines": baselines}
        )
        return
    _show(results)
    out.print(
        f"{len(span_queries)} queries; {within_reach:.3f} of them have a gold span that spans of these lengths can hit."
    )


@contextmanager
def _scratch_encoders(settings: Settings) -> Iterator[Encoders]:
    """Encoders that put the whitenings of nuggets into a temporary folder."""
    with TemporaryDirectory(prefix="spanseek-") as folder:
        yield Encoders(replace(settings.encoder_options, whitenings=Path(folder)))


def _show(results: Mapping[str, "RetrievalFigures"]) -> None:
    columns = [asdict(figures) for figures in results.values()]
    table = Table("", *results)
    for figure in columns[0]:
        table.add_row(figure, *(f"{column[figure]:.3f}" for column in columns))
    out.print(table)


def eval_convert(
    name: Annotated[str, typer.Argument(help="The data set: climate-fever, cuad, pic, qed, scifact or xquad.")],
    data: Annotated[Path, typer.Option(help="The data set's folder.")],
    out_folder: Annotated[Path, typer.Option("--out", help="Folder to write into.")],
    task: Annotated[str | None, typer.Option(help="What is asked and what is gold; by default the first task.")] = None,
    skip: Annotated[int, typer.Option(min=0, help="Leave out the first so many documents.")] = 0,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many documents.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Make documents and queries of a public data set, for `spanseek eval span-retrieval`."""
    from research.evaluation.converters.registry import convert

    converted = convert(name, data, task).limited(limit, skip)
    converted.write(out_folder)
    counts = {
        "documents": len(converted.documents),
        "queries": len(converted.queries),
        "gold": sum(len(query.gold) for query in converted.queries),
        "not_found": converted.not_found,
    }
    if as_json:
        print_json(counts)
    else:
        out.print(", ".join(f"{count:,} {what.replace('_', ' ')}" for what, count in counts.items()) + ".")
