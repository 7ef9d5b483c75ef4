"""The layers of a network one by one: where they are, and what is given to one of them in a forward pass."""

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
    """What a layer was called with: hidden states, and whatever else its architecture passes on (masks above all)."""

    hidden: Float[Tensor, "windows padded dim"]
    others: tuple[Any, ...]
    named: Mapping[str, Any]

    def through(
        self, layers: Sequence[torch.nn.Module], hidden: Float[Tensor, "windows padded dim"] | None = None
    ) -> Float[Tensor, "windows padded dim"]:
        """What these layers, one after the other, make of the hidden states, or of others in their place."""
        states = self.hidden if hidden is None else hidden
        for layer in layers:
            found = layer(states, *self.others, **self.named)
            # Some architectures' layers give their attention along.
            states = found[0] if isinstance(found, tuple) else found
        return states


def layers_of(model: torch.nn.Module) -> torch.nn.ModuleList:
    """The layers of a transformer encoder, bottom first. Raises ``BackboneMismatch`` where they are not to be found."""
    wanted = getattr(getattr(model, "config", None), "num_hidden_layers", 0)
    for module in model.modules():
        if isinstance(module, torch.nn.ModuleList) and len(module) == wanted:
            return module
    raise BackboneMismatch(
        f"{type(model).__name__} has no list of {wanted} layers.",
        hint="Nuggets need a BERT-like encoder, or the encoder of a BART-like network.",
    )


@contextmanager
def inputs_of(layer: torch.nn.Module) -> Iterator[list[LayerInput]]:
    """Everything that is given to a layer, by the thread that asks, while the context is open."""
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
