"""``spanseek eval judged`` and ``spanseek eval judged-corpora``: users' phrases, and what was judged of their hits."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from app.cli.console import JsonOption, err, open_services, out, print_json

if TYPE_CHECKING:
    from research.evaluation.contrast import Half
    from research.evaluation.judged_figures import Outcome
    from research.evaluation.significance import Gain


def eval_judged(
    collection: Annotated[str, typer.Option("--collection", "-c", help="The collection of the judged corpus.")],
    data: Annotated[Path, typer.Option(help="Folder of the judged set.")] = Path("research/data/judged"),
    corpus: Annotated[str | None, typer.Option(help="Its corpus; by default that of the collection's name.")] = None,
    plain: Annotated[str, typer.Option(help="The encoder of the plain script.")] = "untrained",
    unjudged: Annotated[
        Path | None, typer.Option(help="Write the places that are to be judged to this NDJSON file, with their texts.")
    ] = None,
    depth: Annotated[int, typer.Option(min=1, max=10, help="The first hits of which places are written.")] = 5,
    keep: Annotated[
        Path | None, typer.Option(help="Folder that keeps what was found: a system that it holds does not run again.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare every mode with BM25 and a plain script by what users would find: judgements of the first five hits."""
    from app.collections.reading import DocumentReader
    from app.search.service import SearchService
    from research.evaluation import judged as judgements
    from research.evaluation.corpus import Corpus
    from research.evaluation.judged_figures import outcomes
    from research.evaluation.judged_rankings import DEFAULT, mode_systems, plain_systems, rankings

    with open_services() as services:
        held = Corpus(services.get(DocumentReader).export(collection).documents)
        judged = judgements.read_judged(data, corpus or collection, held)
        recipe = services.store.snapshot(collection).recipe
        systems = mode_systems(services.get(SearchService), collection, recipe)
        systems |= plain_systems(held, lambda: services.encoders.load(plain))
        with err.status(f"{len(judged.queries)} queries, {len(held.documents)} documents"):
            found = dict(rankings(systems, judged.queries, keep))
    if unjudged is not None:
        first = [
            {id: [hit.place for hit in hits[:depth]] for id, hits in ranking.items()} for ranking in found.values()
        ]
        lines = [json.dumps(row, ensure_ascii=False) for row in judgements.unjudged(judged, held, first)]
        unjudged.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    rows = {name: outcomes(judged, held, ranking) for name, ranking in found.items()}
    _report(rows, DEFAULT, as_json)


def _report(rows: Mapping[str, Sequence["Outcome"]], default: str, as_json: bool) -> None:
    from research.evaluation.contrast import Half
    from research.evaluation.judged_figures import gains, of_half

    halves = {half: {name: of_half(of_name, half) for name, of_name in rows.items()} for half in get_args(Half)}
    if as_json:
        print_json({half: _as_json(of_half_) for half, of_half_ in halves.items()})
        return
    for half, of_half_ in halves.items():
        _show(half, of_half_, gains(of_half_, default), default)


def _as_json(rows: Mapping[str, Sequence["Outcome"]]) -> dict[str, object]:
    from research.evaluation.judged_figures import figures, gains, share, unmarked

    compared = {
        name: {over: {each: asdict(gain) for each, gain in gains(rows, over, value).items()} for over in rows}
        for name, value in (("share", share), ("unmarked_wrong", unmarked))
    }
    return {"figures": {name: asdict(figures(of_name)) for name, of_name in rows.items()}, "gains": compared}


def _show(half: "Half", rows: Mapping[str, Sequence["Outcome"]], over: Mapping[str, "Gain"], default: str) -> None:
    from research.evaluation.judged_figures import figures

    for name, of_name in rows.items():
        row, gain = figures(of_name), over.get(name)
        compared = f" ({gain.difference:+.3f} over {default}, at least {gain.lower:+.3f})" if gain else ""
        out.print(
            f"{half}, {name}: relevant {row.relevant} of {row.possible}, share {row.share:.3f}{compared}, first right "
            f"{row.first} of {row.answered}, unmarked wrong {row.unmarked_wrong} and near {row.unmarked_near} of "
            f"{row.shown}, silent {row.silent} of {row.unanswered}, unjudged {row.unjudged}",
            soft_wrap=True,
        )


def eval_judged_corpora(
    data: Annotated[Path, typer.Option(help="Folder of the known sets.")],
    out_folder: Annotated[Path, typer.Option("--out", help="Folder to write into.")],
    labelled: Annotated[bool, typer.Option("--labelled", help="Those of the labelled hits instead.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write the corpora of the judged set, NDJSON as `spanseek index` takes it, from data sets."""
    from research.evaluation.converters.conversion import write_documents
    from research.evaluation.judged_corpora import CORPORA
    from research.training import labelled_hits

    made = {name: make(data) for name, make in (labelled_hits.CORPORA if labelled else CORPORA).items()}
    out_folder.mkdir(parents=True, exist_ok=True)
    for name, documents in made.items():
        write_documents(out_folder / f"{name}.ndjson", documents)
    counts = {name: len(documents) for name, documents in made.items()}
    if as_json:
        print_json(counts)
    else:
        out.print(", ".join(f"{count} {name}" for name, count in counts.items()) + ".")
