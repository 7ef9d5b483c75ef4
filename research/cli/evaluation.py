"""``spanseek eval``: the figures of the README and of the papers."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from app.cli.console import JsonOption, out, print_json
from app.encoders.encoders import Encoders
from app.requests import Ranking
from app.settings import Settings
from models.ops.span_score import COSINE
from research.cli.eval_facets import (
    eval_facets_examples,
    eval_facets_hypernyms,
    eval_facets_phrases,
    eval_facets_sentences,
    eval_facets_summaries,
)
from research.cli.eval_intents import eval_intents
from research.cli.eval_judged import eval_judged, eval_judged_corpora
from research.cli.eval_nugget_lm import eval_auto_encoding, eval_nugget_lm, eval_nugget_selection
from research.cli.eval_paraphrases import eval_paraphrase_identification
from research.cli.eval_passages import eval_build_passages, eval_passage_reranking
from research.cli.eval_phrases import eval_phrase_similarity
from research.cli.eval_restorable import eval_restorable, eval_restorable_retrieval
from research.cli.eval_spans import eval_convert, eval_span_retrieval
from research.cli.eval_sts import eval_sts, eval_sts_b_context
from research.cli.verifying import eval_contrast, eval_labelled_hits

eval_cli = typer.Typer(
    help="Evaluations: the figures of the README and of the papers.", no_args_is_help=True, rich_help_panel="Research"
)
eval_cli.command("sts-b-context")(eval_sts_b_context)
eval_cli.command("sts")(eval_sts)
eval_cli.command("contrast")(eval_contrast)
eval_cli.command("labelled-hits")(eval_labelled_hits)
eval_cli.command("span-retrieval")(eval_span_retrieval)
eval_cli.command("intents")(eval_intents)
eval_cli.command("judged")(eval_judged)
eval_cli.command("judged-corpora")(eval_judged_corpora)
eval_cli.command("convert")(eval_convert)
eval_cli.command("phrase-similarity")(eval_phrase_similarity)
eval_cli.command("paraphrase-identification")(eval_paraphrase_identification)
eval_cli.command("nugget-lm")(eval_nugget_lm)
eval_cli.command("auto-encoding")(eval_auto_encoding)
eval_cli.command("nugget-selection")(eval_nugget_selection)
eval_cli.command("build-passages")(eval_build_passages)
eval_cli.command("passage-reranking")(eval_passage_reranking)
eval_cli.command("facets-sentences")(eval_facets_sentences)
eval_cli.command("facets-phrases")(eval_facets_phrases)
eval_cli.command("facets-hypernyms")(eval_facets_hypernyms)
eval_cli.command("facets-summaries")(eval_facets_summaries)
eval_cli.command("facets-examples")(eval_facets_examples)
eval_cli.command("restorable")(eval_restorable)
eval_cli.command("restorable-retrieval")(eval_restorable_retrieval)


@eval_cli.command("sample")
def eval_sample(
    samples: Annotated[Path, typer.Option(help="Folder of the sample corpus.")] = Path("samples"),
    encoder: Annotated[str | None, typer.Option(help="Encoder to evaluate.")] = None,
    min_span: Annotated[
        int | None, typer.Option(min=1, help="Shortest span, in units; by default what nine phrases of ten have.")
    ] = None,
    ranking: Annotated[
        Ranking, typer.Option(help="Rank spans by their span score, or by the cosine alone.")
    ] = "span_score",
    as_json: JsonOption = False,
) -> None:
    """Measure how often the sample corpus's gold spans are found, beside BM25."""
    from research.evaluation.sample import evaluate_sample

    settings = Settings()
    encoders, name = Encoders(settings.encoder_options), encoder or settings.encoder
    loaded = encoders.load(name)
    span_score = encoders.span_score(name, loaded.fingerprint) if ranking == "span_score" else COSINE
    figures = evaluate_sample(samples, loaded, min_span, span_score)
    if as_json:
        print_json(asdict(figures))
        return
    for name, value in asdict(figures).items():
        out.print(f"{name:14s} {value:.3f}" if isinstance(value, float) else f"{name:14s} {value}")
