"""BERT in as few operations as it has, with weights laid out for products with few tokens: how a query waits least.

A network as transformers builds it calls a hundred modules, and multiplies by weights that lie as a file has them.
Over the ten words of an origin phrase that is half of the time. What comes out is the same, up to rounding.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

Linear: TypeAlias = Callable[[Float[Tensor, "*rows inputs"]], Float[Tensor, "*rows outputs"]]

_HALVES = ("x86", "fbgemm")  # the engines of torch that multiply by weights of 16 bits
_TOKENS = 16  # for about so many tokens weights are laid out: an origin phrase has hardly any more


class PackedBert:
    """The forward pass of a BERT on a CPU, sums in float32. To be made once the weights are in place, which it copies.

    >>> from transformers import BertConfig, BertModel
    >>> config = BertConfig(vocab_size=20, hidden_size=8, num_hidden_layers=2, num_attention_heads=2)
    >>> model = BertModel(config, add_pooling_layer=False).eval()
    >>> ids, mask = torch.tensor([[3, 5, 7], [9, 2, 0]]), torch.tensor([[True, True, True], [True, True, False]])
    >>> with torch.inference_mode():
    ...     wanted, found = model(ids, mask).last_hidden_state, PackedBert(model)(ids, mask)
    >>> torch.allclose(found[mask], wanted[mask], atol=1e-5)
    True
    """

    def __init__(self, model: Any) -> None:  # noqa: ANN401  modules whose attributes have no types
        self._embed = model.embeddings
        self._heads = model.config.num_attention_heads
        self._layers = [_packed_layer(layer) for layer in model.encoder.layer]

    @torch.inference_mode()
    def __call__(
        self, ids: Int[Tensor, "windows padded"], mask: Bool[Tensor, "windows padded"]
    ) -> Float[Tensor, "windows padded dim"]:
        """Last hidden states; what stands where the mask is false has no meaning."""
        hidden = self._embed(ids)
        seen = None if bool(mask.all()) else mask[:, None, None, :]
        for layer in self._layers:
            hidden = layer.attended(hidden, self._heads, seen)
            hidden = layer.normed(layer.contract(layer.expand(hidden)) + hidden)
        return hidden


@dataclass(frozen=True, slots=True)
class _Layer:
    """One layer: queries, keys and values in one product, GELU within the one that expands."""

    look: Linear
    gather: Linear
    gathered: torch.nn.LayerNorm
    expand: Linear
    contract: Linear
    normed: torch.nn.LayerNorm

    def attended(
        self, hidden: Float[Tensor, "windows padded dim"], heads: int, seen: Bool[Tensor, "windows 1 1 padded"] | None
    ) -> Float[Tensor, "windows padded dim"]:
        windows, padded, dim = hidden.shape
        query, key, value = self.look(hidden).view(windows, padded, 3, heads, -1).permute(2, 0, 3, 1, 4)
        found = functional.scaled_dot_product_attention(query, key, value, attn_mask=seen)
        return self.gathered(self.gather(found.transpose(1, 2).reshape(windows, padded, dim)) + hidden)


def packed_bert(model: Any, device: torch.device) -> PackedBert | None:  # noqa: ANN401
    """The same network, packed; None for another architecture, or another device than the CPU."""
    config = model.config
    plain = config.model_type == "bert" and config.hidden_act == "gelu" and not config.is_decoder
    return PackedBert(model) if plain and device.type == "cpu" else None


def _packed_layer(layer: Any) -> _Layer:  # noqa: ANN401
    attention, output = layer.attention, layer.output
    look = [attention.self.query, attention.self.key, attention.self.value]
    return _Layer(
        look=_linear(torch.cat([each.weight for each in look]), torch.cat([each.bias for each in look])),
        gather=_linear(attention.output.dense.weight, attention.output.dense.bias),
        gathered=attention.output.LayerNorm,
        expand=_linear(layer.intermediate.dense.weight, layer.intermediate.dense.bias, "gelu"),
        contract=_linear(output.dense.weight, output.dense.bias),
        normed=output.LayerNorm,
    )


@torch.no_grad()
def _linear(
    weight: Float[Tensor, "outputs inputs"], bias: Float[Tensor, " outputs"], activation: str = "none"
) -> Linear:
    """A product with a weight that is laid out once, by the fastest of the libraries that torch was built with."""
    weight, bias = weight.detach(), bias.detach().clone()
    if torch.backends.quantized.engine in _HALVES and torch.equal(weight.half().float(), weight):
        return _half_linear(weight, bias, activation)
    if torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return _single_linear(weight, bias, activation)
    return _plain_linear(weight.clone(), bias, activation)


def _half_linear(weight: Float[Tensor, "outputs inputs"], bias: Float[Tensor, " outputs"], activation: str) -> Linear:
    """By FBGEMM, with the weight in 16 bits: for so few tokens, reading it takes longest. Products are in 32 bits.

    Nothing is lost where weights are kept in 16 bits anyway, as trained ones are.
    """
    packed, after = torch.ops.quantized.linear_prepack_fp16(weight, bias), _after(activation)
    return lambda hidden: after(torch.ops.quantized.linear_dynamic_fp16(hidden, packed))


def _single_linear(weight: Float[Tensor, "outputs inputs"], bias: Float[Tensor, " outputs"], activation: str) -> Linear:
    """By oneDNN, with the weight in 32 bits."""
    # These operations are how torch.compile multiplies by frozen weights: no other way reaches them without a compiler.
    packed = torch.ops.mkldnn._reorder_linear_weight(weight, _TOKENS)
    return lambda hidden: torch.ops.mkldnn._linear_pointwise(
        hidden, packed, bias, activation, [], "none" if activation == "gelu" else ""
    )


def _plain_linear(weight: Float[Tensor, "outputs inputs"], bias: Float[Tensor, " outputs"], activation: str) -> Linear:
    after = _after(activation)
    return lambda hidden: after(functional.linear(hidden, weight, bias))


def _after(activation: str) -> Callable[[Tensor], Tensor]:
    return functional.gelu if activation == "gelu" else torch.nn.Identity()
