"""``spanseek eval intents``: turns of conversations, by the name of their intent."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table

from app.cli.console import JsonOption, err, out, print_json
from app.collections.bounds import span_bounds
from app.encoders.encoders import Encoders
from app.settings import Settings

if TYPE_CHECKING:
    from research.evaluation.significance import Gain
    from research.evaluation.topical_retrieval import TopicFigures


def eval_intents(
    data: Annotated[Path, typer.Option(help="Folder of the known sets, with MultiDoGO in multidogo/.")],
    encoder: Annotated[str | None, typer.Option(help="Encoder to evaluate.")] = None,
    baseline: Annotated[str, typer.Option(help="Encoder to set beside it.")] = "untrained",
    split: Annotated[
        Literal["train", "dev", "test"], typer.Option(help="Whose turns: dev, by which to choose.")
    ] = "dev",
    discount: Annotated[float, typer.Option(min=0, help="Discount for spans shorter than the query.")] = 0.15,
    min_span: Annotated[int, typer.Option(help="Shortest span, in units.")] = 1,
    max_span: Annotated[int, typer.Option(help="Longest span, in units.")] = 20,
    mode: Annotated[
        list[str] | None, typer.Option(help="A search mode to set beside them; repeat for several.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how well turns are found by the name of their intent: best span, whole turn and both, beside BM25."""
    from app.search.mode import mode_named
    from research.evaluation.intents import read_intents
    from research.evaluation.topical_modes import mode_scores
    from research.evaluation.topical_retrieval import (
        DISCOUNTED,
        WHOLE,
        bm25_scores,
        encoder_scores,
        gains_over,
        measure_topics,
    )

    settings = Settings()
    bounds = span_bounds(min_span, max_span)
    encoders = Encoders(settings.encoder_options)
    ours = encoder or settings.encoder
    loaded = {name: encoders.load(name) for name in (ours, baseline)}
    topics = read_intents(data, split)
    figures = {"bm25": measure_topics(bm25_scores(topics), topics)}
    for name, model in loaded.items():
        with err.status(f"{name}: {len(topics.texts):,} turns"):
            scores = encoder_scores(model, topics, bounds, discount)
        figures |= {f"{name}: {row}": measure_topics(of_row, topics) for row, of_row in scores.items()}
    baselines = ["bm25", f"{baseline}: {WHOLE}"]
    if mode:
        with err.status(f"{ours}: {', '.join(mode)}"):
            of_modes = mode_scores(encoders, ours, [mode_named(name) for name in mode], topics, bounds)
        figures |= {f"{ours}: mode {name}": measure_topics(scores, topics) for name, scores in of_modes.items()}
        baselines += [f"{ours}: {DISCOUNTED}", f"{ours}: {WHOLE}"]
    gains = gains_over(figures, baselines)
    intents = len(set(topics.topics))
    if as_json:
        print_json({"split": split, "turns": len(topics.texts), "intents": intents} | _as_json(figures, gains))
    else:
        _show(f"{len(topics.texts):,} turns, {intents} intents", figures, gains)


def _as_json(figures: "Mapping[str, TopicFigures]", gains: "Mapping[str, Mapping[str, Gain]]") -> dict[str, object]:
    rows = {
        name: {"average_precision": round(row.average_precision, 6), "precision_at_10": round(row.precision_at_10, 6)}
        for name, row in figures.items()
    }
    of_gains = {over: {name: asdict(gain) for name, gain in rows.items()} for over, rows in gains.items()}
    return {"rows": rows, "gains": of_gains}


def _show(title: str, figures: "Mapping[str, TopicFigures]", gains: "Mapping[str, Mapping[str, Gain]]") -> None:
    table = Table(title, "average precision", "precision at 10", *(f"over {baseline}" for baseline in gains))
    for name, row in figures.items():
        cells = (_cell(of_baseline.get(name)) for of_baseline in gains.values())
        table.add_row(name, f"{row.average_precision:.4f}", f"{row.precision_at_10:.4f}", *cells)
    out.print(table)


def _cell(gain: "Gain | None") -> str:
    return f"{gain.difference:+.4f} ({gain.lower:+.4f})" if gain else ""
