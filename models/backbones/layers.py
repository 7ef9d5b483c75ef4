"""The layers of a network: locating them, and capturing the input of one of them in a forward pass."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import get_ident
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from models.errors import BackboneMismatch


@dataclass(frozen=True, slots=True)
class LayerInput:
    """The arguments of a layer: hidden states, and other arguments of its architecture, such as masks."""

    hidden: Float[Tensor, "windows padded dim"]
    others: tuple[Any, ...]
    named: Mapping[str, Any]

    def through(
        self, layers: Sequence[torch.nn.Module], hidden: Float[Tensor, "windows padded dim"] | None = None
    ) -> Float[Tensor, "windows padded dim"]:
        """Pass the hidden states, or the given ones, through layers in turn."""
        states = self.hidden if hidden is None else hidden
        for layer in layers:
            output = layer(states, *self.others, **self.named)
            # The layers of some architectures also return their attention.
            states = output[0] if isinstance(output, tuple) else output
        return states


def layers_of(model: torch.nn.Module) -> torch.nn.ModuleList:
    """The layers of a transformer encoder, bottom first. Raises ``BackboneMismatch`` if there is no such list."""
    depth = getattr(getattr(model, "config", None), "num_hidden_layers", 0)
    for module in model.modules():
        if isinstance(module, torch.nn.ModuleList) and len(module) == depth:
            return module
    raise BackboneMismatch(
        f"{type(model).__name__} has no list of {depth} layers.",
        hint="Nuggets need a BERT-like encoder, or the encoder of a BART-like network.",
    )


@contextmanager
def inputs_of(layer: torch.nn.Module) -> Iterator[list[LayerInput]]:
    """Records the inputs of a layer from the current thread while the context is open."""
    seen: list[LayerInput] = []
    asking = get_ident()

    def note(_: torch.nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        if get_ident() == asking:
            seen.append(LayerInput(arguments[0], arguments[1:], named))

    handle = layer.register_forward_pre_hook(note, with_kwargs=True)
    try:
        yield seen
    finally:
        handle.remove()
