"""``spanseek eval sts-b-context`` and ``spanseek eval sts``: phrases in context, and sentences alone."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from app.cli.console import JsonOption, err, out, print_json
from app.collections.bounds import span_bounds
from app.encoders.encoders import Encoders
from app.settings import Settings
from research.cli.verifying import verifier_of

if TYPE_CHECKING:
    from research.evaluation.scoring import Tell
    from research.evaluation.second_look import GradedFigures
    from research.evaluation.significance import Correlations
    from research.evaluation.sts_b_context import Row
    from research.evaluation.table1 import Compared, Report

EncoderOption = Annotated[str | None, typer.Option(help="Encoder to evaluate.")]


def eval_sts_b_context(
    data: Annotated[Path, typer.Option(help="The TSV of STS-B-Context.")],
    encoder: EncoderOption = None,
    setups: Annotated[str | None, typer.Option(help="Set-ups, with commas; by default the paper's three.")] = None,
    min_span: Annotated[int, typer.Option(help="Shortest span, in units.")] = 1,
    max_span: Annotated[int, typer.Option(help="Longest span, in units.")] = 20,
    discount: Annotated[float, typer.Option(min=0, help="Discount for spans shorter than the query.")] = 0.0,
    half: Annotated[
        Literal["first", "second", "chooses", "reported"] | None, typer.Option(help="Only this half of the rows.")
    ] = None,
    table: Annotated[
        bool, typer.Option("--table", help="Evaluate the baselines too, and the gold pair alone.")
    ] = False,
    verified: Annotated[
        bool, typer.Option("--verified", help="Score by the second look too, over the encoder slice.")
    ] = False,
    baseline: Annotated[str | None, typer.Option(help="Compare with ENCODER:SETUP on the same rows.")] = None,
    sweep: Annotated[bool, typer.Option("--sweep", help="Let the longest span go from 5 to 35 units.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the sweep into this file.")] = None,
    scores: Annotated[Path | None, typer.Option(help="Keep scores in this folder, and go on from them.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how well the best span's cosine follows human similarity: Table 1 of the SLICE paper."""
    from research.evaluation.setups import PAPER
    from research.evaluation.sts_b_context import half_of, read_rows
    from research.evaluation.table1 import Entry, Table1, make_report, swept_entries

    if plot:
        from research.evaluation.plots import check_format

        check_format(plot)
    settings = Settings()
    encoders = Encoders(settings.encoder_options)
    name = encoder or settings.encoder
    entries = [Entry.parse(f"{name}:{setup.strip()}") for setup in (setups.split(",") if setups else PAPER)]
    against = Entry.parse(baseline) if baseline else None
    if against:
        encoders.load(against.encoder)  # an unknown name is reported now, not after the forward passes
    rows, bounds = half_of(read_rows(data), half), span_bounds(min_span, max_span)
    with _progress() as tell:
        table1 = Table1(
            rows,
            encoders.load,
            bounds,
            scores,
            tell,
            discount,
            lambda each: encoders.span_score(name, each.fingerprint),
        )
        swept = swept_entries(name, entries if setups else [], against) if sweep or plot else []
        default = encoders.default_calibration(name)
        knots = default.map if default else None
        report = make_report(table1, entries, table=table, baseline=against, swept=swept, default=knots)
    graded = _verified(encoders, rows) if verified else None
    if plot and report.sweep:
        _draw_sweep(plot, report.sweep)
    if as_json:
        print_json(report.as_json() | ({"verified": asdict(graded)} if graded else {}))
        return
    _show(report, name)
    if graded:
        out.print(
            f"By the first look {graded.first.pearson:.4f}, by the probability {graded.probability.pearson:.4f}, by "
            f"its log odds {graded.log_odds.pearson:.4f}, by what hits are ranked by {graded.ranked.pearson:.4f} "
            f"({graded.gain.difference:+.4f} over the first look, at least {graded.gain.bootstrap_lower:+.4f}).",
            soft_wrap=True,
        )


def _verified(encoders: Encoders, rows: "Sequence[Row]") -> "GradedFigures":
    from app.search.mode import load_modes
    from app.texts.spans import SpanService
    from research.evaluation.second_look import follow_grades

    spans = SpanService(encoders, "slice", load_modes(encoders)["best_span"])
    return follow_grades(spans, verifier_of(encoders), rows)


def eval_sts(
    data: Annotated[Path, typer.Option(help="Folder with the STS benchmark in stsb/ and SICK in sick/.")],
    encoder: EncoderOption = None,
    split: Annotated[
        Literal["dev", "test"], typer.Option(help="dev, by which to choose, or test, to report only.")
    ] = "dev",
    exclude: Annotated[
        Path | None, typer.Option(help="A TSV of STS-B-Context: leave out pairs with a sentence of it.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how well the cosine of two sentences encoded alone follows human similarity: STS-B, SICK, STS 2012-16."""
    from research.evaluation.sts import evaluate_sentences
    from research.training.sources import read_excluded

    settings = Settings()
    encoders = Encoders(settings.encoder_options)
    name = encoder or settings.encoder
    excluded = read_excluded(exclude)
    figures = evaluate_sentences(encoders.load(name), encoders.load("untrained"), data, split, excluded)
    if as_json:
        print_json({"split": split, "sets": {of: asdict(row) for of, row in figures.items()}})
        return
    shown = Table(name, "pairs", "Pearson", "Spearman", "less untrained")
    for row in figures.values():
        gains = f"{row.difference.pearson:+.4f} {row.difference.spearman:+.4f}"
        shown.add_row(row.file, str(row.pairs), f"{row.pearson:.4f}", f"{row.spearman:.4f}", gains)
    out.print(shown)


@contextmanager
def _progress() -> Iterator["Tell"]:
    """Show how many rows of a set-up are done; on a terminal only, elsewhere nothing is written."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, disable=not err.is_terminal, transient=True) as progress:
        task = progress.add_task("", total=None)

        def tell(setup: str, done: int, rows: int) -> None:
            if setup != progress.tasks[task].description:
                progress.reset(task, description=setup, total=rows)
            progress.update(task, completed=done)

        yield tell


def _show(report: "Report", encoder: str) -> None:
    """The report as tables: the figures, how they compare with a baseline, and the sweep."""
    figures = Table(f"{report.rows} rows", "Pearson", "Spearman")
    entries = {f"{encoder}:{setup}": entry for setup, entry in report.setups.items()}
    for name, entry in {**(report.baselines or {}), **entries}.items():
        figures.add_row(name, f"{entry.pearson:.4f}", f"{entry.spearman:.4f}")
    out.print(figures)
    for setup, error in (report.degree_errors or {}).items():
        after = "" if error.score is None else f", {error.score:.3f} with the default calibration"
        out.print(f"{setup}: 5 x raw is {error.raw:.3f} from the grades on average{after}.", soft_wrap=True)
    if report.comparison:
        out.print(_comparison_table(report.comparison))
    if report.sweep:
        out.print(_sweep_table(report.sweep))


def _comparison_table(compared: "Compared") -> Table:
    title = f"Pearson's r against {compared.baseline} ({compared.pearson:.4f})"
    table = Table("set-up", "difference", "Williams' t", "p", "lower bound, 95 %", "resamples above", title=title)
    for setup, comparison in compared.setups.items():
        bootstrap = (f"{comparison.bootstrap_lower:+.4f}", f"{comparison.bootstrap_positive:.2%}")
        table.add_row(
            setup,
            f"{comparison.difference:+.4f}",
            f"{comparison.williams_t:.2f}",
            f"{comparison.williams_p:.2g}",
            *bootstrap,
        )
    return table


def _draw_sweep(path: Path, sweep: "dict[str, dict[int, Correlations]]") -> None:
    from research.evaluation.plots import save_curves

    curves = {name: {longest: point.pearson for longest, point in points.items()} for name, points in sweep.items()}
    save_curves(path, curves, "longest span, in units", "Pearson's r")


def _sweep_table(sweep: "dict[str, dict[int, Correlations]]") -> Table:
    table = Table("longest span", *sweep, title="Pearson / Spearman by the longest span")
    for longest in next(iter(sweep.values())):
        cells = (f"{points[longest].pearson:.4f} / {points[longest].spearman:.4f}" for points in sweep.values())
        table.add_row(str(longest), *cells)
    return table
