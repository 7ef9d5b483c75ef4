"""``spanseek eval build-passages`` and ``spanseek eval passage-reranking``."""

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from app.cli.console import JsonOption, out, print_json
from research.cli.eval_paraphrases import AsTrainedOption, evaluate_nuggets, print_report


def eval_build_passages(
    extract: Annotated[Path, typer.Option(help="Folder of a Wikipedia extract, *.gz in WikiExtractor's form.")],
    folder: Annotated[Path, typer.Option("--out", help="Folder to write docs.txt and task.jsonl into.")],
    tasks: Annotated[int, typer.Option(min=1, help="Tasks to make.")] = 1_024,
    seed: Annotated[int, typer.Option(help="Decides all that is drawn.")] = 13,
    min_words: Annotated[int, typer.Option(min=1, help="Shortest passage; shorter ones are left out.")] = 50,
    max_words: Annotated[int, typer.Option(min=1, help="Longest passage; longer ones are left out, not cut.")] = 400,
    articles: Annotated[int | None, typer.Option(min=1, help="Only the first so many articles.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Make the passage re-ranking set: leads of Wikipedia articles, each with 20 sections one of which is its own."""
    from research.evaluation.passage_set import Recipe, make_passage_set
    from research.evaluation.wikipedia import read_articles

    made = make_passage_set(islice(read_articles(extract), articles), Recipe(tasks, seed, min_words, max_words))
    made.write(folder)
    counts = {"tasks": len(made.tasks), "sections": len(made.sections), "seed": seed}
    if as_json:
        print_json(counts)
    else:
        out.print(f"{len(made.tasks):,} tasks, candidates chosen among {len(made.sections):,} sections.")


def eval_passage_reranking(
    data: Annotated[Path, typer.Option(help="Folder that `spanseek eval build-passages` wrote.")],
    ratio: Annotated[float, typer.Option(help="Nuggets a token, above 0 and at most 1.")] = 0.1,
    encoder: Annotated[str | None, typer.Option(help="Encoder whose nuggets are evaluated.")] = None,
    skip: Annotated[int, typer.Option(min=0, help="Leave out the first so many tasks.")] = 0,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many tasks.")] = None,
    as_trained: AsTrainedOption = False,
    gains: Annotated[
        bool, typer.Option("--gains", help="Add what is gained over the baselines, with lower bounds.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure how well MaxSim of nuggets finds the section of the same article: table 2 of the Nugget paper."""
    from models.encoders.nuggets.base import check_ratio
    from research.evaluation.passage_set import read_passage_tasks

    check_ratio(ratio)
    report = evaluate_nuggets(read_passage_tasks(data, limit, skip), ratio, encoder, as_trained=as_trained)
    print_report(report, gains=gains, as_json=as_json)
