"""``spanseek eval paraphrase-identification``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table

from app.cli.console import JsonOption, out, print_json
from app.encoders.encoders import Encoders
from app.settings import Settings

if TYPE_CHECKING:
    from research.evaluation.paraphrase_identification import Report, Tasks

AsTrainedOption = Annotated[
    bool, typer.Option("--as-trained", help="Do not whiten the nuggets by a sample of the texts, as indexing does.")
]


def eval_paraphrase_identification(
    data: Annotated[Path, typer.Option(help="Folder with the task, as the Nugget paper's authors publish it.")],
    ratio: Annotated[float, typer.Option(help="Nuggets a token, above 0 and at most 1.")] = 0.1,
    encoder: Annotated[str | None, typer.Option(help="Encoder whose nuggets are evaluated.")] = None,
    split: Annotated[
        Literal["train", "dev", "test"], typer.Option(help="train, by which to choose; dev and test, to report only.")
    ] = "dev",
    as_trained: AsTrainedOption = False,
    gains: Annotated[
        bool, typer.Option("--gains", help="Add what is gained over the baselines, with lower bounds.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure how well MaxSim of nuggets finds the document that says the same: table 2 of the Nugget paper."""
    from models.encoders.nuggets.base import check_ratio
    from research.evaluation.paraphrase_identification import read_tasks

    check_ratio(ratio)
    report = evaluate_nuggets(read_tasks(data, split), ratio, encoder, as_trained=as_trained)
    print_report(report, gains=gains, as_json=as_json)


def evaluate_nuggets(tasks: "Tasks", ratio: float, encoder: str | None, *, as_trained: bool) -> "Report":
    """The nuggets of an encoder beside the baselines, made as indexing makes those of a new collection.

    Where nuggets are whitened by the texts, so are the means of chunks, as a baseline of their own.
    """
    from indexer.nuggets.models import NuggetModels
    from models.encoders.nuggets.whitened import WhitenedNuggets, fit_whitening
    from research.evaluation.equal_chunks import EqualChunks
    from research.evaluation.paraphrase_identification import evaluate_paraphrases

    settings = Settings()
    encoders = Encoders(settings.encoder_options)
    nuggets, untrained = encoders.shared(NuggetModels).trained(encoder or settings.encoder), encoders.load("untrained")
    if as_trained:
        return evaluate_paraphrases(nuggets, untrained, tasks, ratio)
    whitened = WhitenedNuggets(nuggets, fit_whitening(nuggets, tasks.texts, ratio))
    of_chunks = fit_whitening(EqualChunks(untrained), tasks.texts, ratio)
    return evaluate_paraphrases(whitened, untrained, tasks, ratio, of_chunks)


def print_report(report: "Report", *, gains: bool, as_json: bool) -> None:
    """The figures of nuggets beside those of the baselines, and what is gained over these if asked for."""
    gains_by_baseline = report.gains() if gains else {}
    if as_json:
        print_json(report.as_json() | ({"gains": gains_by_baseline} if gains else {}))
        return
    tasks = len(report.nuggets.reciprocal)
    table = Table(f"{tasks:,} tasks", "MRR x 100", "vectors a document", *(["gain", "at least"] if gains else []))
    table.add_row(f"nuggets, ratio {report.ratio}", f"{report.nuggets.mrr:.2f}", f"{report.nuggets.vectors:.1f}")
    for name, ranking in report.baselines.items():
        bounds = [f"{value:+.2f}" for value in gains_by_baseline.get(name, {}).values()]
        table.add_row(f"{name}, untrained", f"{ranking.mrr:.2f}", f"{ranking.vectors:.1f}", *bounds)
    out.print(table)
