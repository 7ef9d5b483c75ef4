"""The nugget recipe: reconstruction, translation-style pairs, and MaxSim learnt by contrast, with one set of weights.

The ratio is drawn anew at every step, so that the same weights serve every ratio in between.

    spanseek train nugget --data FOLDER --out FOLDER --checkpoints FOLDER
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from models.artifacts import SHIPPED, Artifact, load_artifact, save_artifact
from models.atomic import replacing
from models.backbones.layers import layers_of
from models.backbones.torch_network import Backbone, load_backbone
from models.encoders.nuggets.network import NuggetNetwork, put_in_place, start_network
from models.encoders.nuggets.parts import check_foundation, foundation
from models.encoders.slice import SliceEncoder
from models.errors import InvalidInput
from models.types import JsonValue
from research.nugget_lm import selectors
from research.nugget_lm.nugget import NuggetDecoder
from research.training.config import NuggetConfig
from research.training.loop import Checkpoints, LoopHooks, Losses, fit
from research.training.nugget_data import NO_TEXTS, NuggetTexts, Reader, draw_likenesses, read_nugget_texts
from research.training.nugget_initialization import begin_well, end_well
from research.training.nugget_losses import NuggetStep, Window, nugget_losses
from research.training.own_texts import digests
from research.training.reading import Topics
from research.training.sources import PHRASES, PROSE, read_excluded

DECODER = "decoder"  # the folder beside the weights that holds the decoder, which searching does not need
_HEADS = 12
_FIRST_DRAWS = 16  # steps' worth of windows that training begins with
_LAST_DRAWS = 48  # and with which it ends: nuggets are fewer than the segments of all ratios together
# What begins with nothing learns this many times faster than the layers, which begin with what they know.
_FASTER = {"scorer": 5.0, "types": 5.0, "value": 5.0, "decoder.": 5.0}


def train_nugget(config: NuggetConfig, texts: NuggetTexts | None = None, hooks: LoopHooks | None = None) -> Artifact:
    """Train, and save nuggets' own parameters (fp16) in ``config.out``; goes on from a checkpoint if there is one."""
    backbone = frozen(config)
    texts = _with_neighbours(texts or read_material(config), backbone, config)
    untrained = load_backbone(config.backbone, device=config.device) if config.upper == "backbone" else None
    network = start_network(backbone, config.layer, feedback=config.feedback, gather=config.gather).to(backbone.device)
    decoder = start_decoder(config, backbone)
    if not config.start:
        _begin(network, backbone, texts, config)
    _begin_with_others(network, backbone, untrained, config)
    spread = network.value.weight.detach().clone()
    reader = Reader(
        backbone, network, selectors.named(config.selector, backbone, config.spacing), config.layer, untrained
    )
    parameters = dict(network.named_parameters())
    if config.weights.auto_encoding or config.weights.translation:
        parameters |= {f"{DECODER}.{name}": parameter for name, parameter in decoder.named_parameters()}

    def losses(step: int) -> Losses:
        rng = np.random.default_rng([config.seed, step])
        return nugget_losses(reader, decoder, spread, draw_step(backbone, texts, config, step, rng), config, rng)

    def save(step: int) -> Artifact:
        facts = _facts(config, backbone, step) | _article_facts(texts)
        save_artifact(config.out / DECODER, _halved(decoder), facts)
        return save_artifact(config.out, _halved(network), facts)

    run = _run(config, backbone) | _article_facts(texts)
    checkpoints = Checkpoints(config.checkpoints, config.save_every, save, run)
    steps = fit(parameters, losses, config.schedule, checkpoints, hooks, _FASTER)
    if steps >= config.schedule.steps and config.weights.contrastive and not config.start:
        _end(reader, texts, config)
    return save(steps)


def _with_neighbours(texts: NuggetTexts, backbone: Backbone, config: NuggetConfig) -> NuggetTexts:
    """The same; articles, if steps draw some, know which others are nearest to them in topic."""
    if not config.shape.of_articles:
        return texts
    if not texts.articles:
        raise InvalidInput(
            "There are no articles to draw leads and sections from.",
            hint="Name the folder of a Wikipedia extract (--extract).",
            field="extract",
        )
    return replace(texts, near=Topics(backbone, [article.lead for article in texts.articles]).nearest)


def _begin(network: NuggetNetwork, backbone: Backbone, texts: NuggetTexts, config: NuggetConfig) -> None:
    """Fit what training begins with, or take what an interrupted run had fitted."""
    run = json.dumps(_run(config, backbone), sort_keys=True)
    path = config.checkpoints / f"start-{hashlib.sha256(run.encode()).hexdigest()[:16]}.safetensors"
    parameters = dict(network.named_parameters())
    begun = [name for name in parameters if name.startswith(("scorer.", "value."))]
    if not path.is_file():
        windows = undrawn_windows(backbone, texts, config, _FIRST_DRAWS)
        begin_well(network, backbone, config.layer, windows, config.seed)
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as partial:
            save_file({name: parameters[name].detach().cpu() for name in begun}, partial)
    begun_tensors = load_file(path)
    with torch.no_grad():
        for name in begun:
            parameters[name].copy_(begun_tensors[name])


def _end(reader: Reader, texts: NuggetTexts, config: NuggetConfig) -> None:
    """Fit the projection once more, on top of what was learnt."""
    windows = undrawn_windows(reader.backbone, texts, config, _LAST_DRAWS)
    end_well(reader.network, reader.backbone, config.layer, reader.selectors, windows)


def _begin_with_others(
    network: NuggetNetwork, backbone: Backbone, untrained: Backbone | None, config: NuggetConfig
) -> None:
    """Put in place what others have learnt: the upper layers, or all of it (``start``), or the scorer alone."""
    if untrained:
        own_layers = torch.nn.ModuleList(layers_of(untrained.model)[config.layer :])
        network.layers.load_state_dict(own_layers.state_dict())
    if config.start:
        start = load_artifact(config.start)
        check_foundation(start, foundation(backbone, config.layer))
        put_in_place(network, start)
    if config.scorer:
        other = load_artifact(config.scorer)
        check_foundation(other, foundation(backbone, config.layer))
        own = {name.removeprefix("scorer."): t for name, t in other.arrays.items() if name.startswith("scorer.")}
        put_in_place(network.scorer, replace(other, arrays=own))


def read_material(config: NuggetConfig) -> NuggetTexts:
    """Read what the settings name."""
    if not (config.data or config.pairs):
        raise InvalidInput(
            "There is nothing to train on.",
            hint="Name the folder of the known sets (--data), or a file of aligned texts (--pairs).",
            field="data",
        )
    texts = read_nugget_texts(config.data, read_excluded(config.exclude)) if config.data else NO_TEXTS
    return replace(texts, pairs=[*texts.pairs, *read_aligned(config.pairs)]) if config.pairs else texts


def read_aligned(path: Path) -> list[tuple[str, str]]:
    """Aligned texts, source and target, one pair a line with a tab between."""
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    rows = [line.split("\t") for line in lines]
    wrong = [row for row in rows if len(row) != 2 or not all(side.strip() for side in row)]
    if wrong or not rows:
        raise InvalidInput(
            f"{path} is no file of aligned texts: {' | '.join(wrong[0])[:80] if wrong else 'there are no lines'}",
            hint="Every line holds a source and a target with a tab between.",
            field="pairs",
        )
    return [(row[0], row[1]) for row in rows]


def frozen(config: NuggetConfig) -> Backbone:
    """The backbone with the layers of SLICE, of which the bottom ones are what nuggets stand on."""
    backbone = load_backbone(config.backbone, device=config.device)
    weights = config.weights_of_slice
    if weights is None and (SHIPPED / "slice").is_dir():
        shipped = load_artifact(SHIPPED / "slice")
        weights = SHIPPED / "slice" if shipped.config["backbone_sha256"] == backbone.weights_sha256 else None
    return SliceEncoder(backbone, load_artifact(weights) if weights else None).backbone


def start_decoder(config: NuggetConfig, backbone: Backbone) -> NuggetDecoder:
    """The decoder a training begins with."""
    heads = _HEADS if backbone.dim % _HEADS == 0 else 2
    decoder = NuggetDecoder(backbone.dim, heads, config.decoder_layers, backbone.window + 2, config.seed)
    return decoder.to(backbone.device)


def draw_step(
    backbone: Backbone, texts: NuggetTexts, config: NuggetConfig, step: int, rng: np.random.Generator
) -> NuggetStep:
    """The windows of one step; what is longer than a window is left out of it."""
    drawn = draw_likenesses(texts, config.shape, config.seed, step)
    tokenized = backbone.tokenize([text for pair in drawn for text in (pair.source, pair.target)])
    windows = [tokens.ids[: backbone.window] for tokens in tokenized]
    sources, targets = windows[0::2], windows[1::2]
    noisy = sources[: config.decoded] if config.delete and config.weights.auto_encoding else []
    noised = [delete(window, config.delete, rng) for window in noisy]
    ratio = float(rng.uniform(config.lowest_ratio, config.highest_ratio))
    return NuggetStep(sources, targets, noised, ratio)


def undrawn_windows(backbone: Backbone, texts: NuggetTexts, config: NuggetConfig, draws: int) -> list[Window]:
    """Windows of so many draws that no step makes, one of every document."""
    drawn = [each for n in range(draws) for each in draw_likenesses(texts, config.shape, config.seed, -1 - n)]
    tokenized = backbone.tokenize([each.source for each in drawn])
    return [tokens.ids[: backbone.window] for tokens in tokenized if len(tokens.ids)]


def delete(window: Window, share: float, rng: np.random.Generator) -> Window:
    """A window less some of its tokens (section 3.4); one is always left."""
    remaining = window[rng.random(len(window)) >= share]
    return remaining if len(remaining) else window[:1]


def _halved(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: parameter.detach().to("cpu", torch.float16) for name, parameter in module.named_parameters()}


def _facts(config: NuggetConfig, backbone: Backbone, step: int) -> dict[str, JsonValue]:
    """Facts that a reader of the weights must know: on what they stand and how they were made."""
    sets = {name: source.licence for name, source in (PROSE | PHRASES).items()}
    licences = {name: licence for name, licence in sets.items() if name != "multidogo"}
    all_licences: Mapping[str, JsonValue] = licences | {"stsb-train": "CC BY-SA 4.0", "ppdb": "CC BY 3.0"}
    facts: dict[str, JsonValue] = {
        "recipe": "nugget.v1",
        "backbone_sha256": backbone.weights_sha256,
        "foundation_sha256": foundation(backbone, config.layer),
        "steps": step,
        "data": dict(all_licences) if config.data else {},
    }
    for name in (
        "seed",
        "layer",
        "upper",
        "selector",
        "feedback",
        "gather",
        "lowest_ratio",
        "highest_ratio",
        "temperature",
    ):
        facts[name] = getattr(config, name)
    for name in ("noise", "spacing", "delete", "decoded", "target_tokens", "decoder_layers"):
        facts[name] = getattr(config, name)
    for name in ("shape", "schedule", "weights"):
        facts[name] = asdict(getattr(config, name))
    for name, folder in (("start", config.start), ("scorer", config.scorer)):
        facts |= {name: load_artifact(folder).sha256} if folder else {}
    return facts | ({"own": {"pairs": config.pairs.name}} if config.pairs else {})


def _article_facts(texts: NuggetTexts) -> dict[str, JsonValue]:
    """From how many articles leads and sections are drawn, if from any: of another extract there are seldom as many."""
    licence = PROSE["enwiki-extract"].licence
    return {"articles": len(texts.articles), "articles_licence": licence} if texts.articles else {}


def _run(config: NuggetConfig, backbone: Backbone) -> dict[str, JsonValue]:
    """Facts that must be the same for a run to go on from a checkpoint: all known of it but the number of steps."""
    facts = _facts(config, backbone, step=0) | {"schedule": asdict(replace(config.schedule, steps=0))}
    return facts | {"contents": digests({"exclude": config.exclude, "pairs": config.pairs})}
