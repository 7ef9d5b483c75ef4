"""Texts from vectors, by the generation code of transformers: greedy or beam search, batched, with a cache."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from transformers import GenerationConfig, GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.cache_utils import DynamicCache
from transformers.modeling_outputs import CausalLMOutputWithPast

from models.encoders.restorable.decoders import Cache
from models.encoders.restorable.network import RestorableNetwork
from models.encoders.restorable.vocabulary import BEGIN, END


@dataclass(frozen=True, slots=True)
class GenerationLimits:
    """The options of generation: beams, most tokens of a text, and the longest run of tokens that may come again.

    ``repeats`` of 0 allows any.
    """

    tokens: int
    beams: int = 1
    repeats: int = 0


# transformers has no type stubs.
Generated: TypeAlias = Any
Others: TypeAlias = Any


class Generator(PreTrainedModel, GenerationMixin):  # type: ignore[misc]
    """A restorable network in the form that transformers generates with."""

    config_class = PretrainedConfig
    main_input_name = "input_ids"
    _supports_cache_class = True

    def __init__(self, network: RestorableNetwork) -> None:
        super().__init__(
            PretrainedConfig(
                vocab_size=network.shape.vocabulary,
                num_hidden_layers=network.shape.decoder_layers,
                hidden_size=network.shape.width,
                bos_token_id=BEGIN,
                eos_token_id=END,
                pad_token_id=END,
                is_encoder_decoder=False,
            )
        )
        self.network = network
        self.generation_config = GenerationConfig(bos_token_id=BEGIN, eos_token_id=END, pad_token_id=END)

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.network.embed.weight.device

    def prepare_inputs_for_generation(
        self,
        input_ids: Tensor,
        vectors: Tensor,
        real: Tensor,
        attention_mask: Tensor | None = None,
        past_key_values: Cache = None,
        **kwargs: Others,
    ) -> dict[str, Any]:
        """The last token of every text, what the cache does not have yet, and where it stands."""
        return {
            "input_ids": input_ids[:, -1:],
            "past_key_values": past_key_values,
            "vectors": vectors,
            "real": real,
            "start": input_ids.shape[1] - 1,
        }

    def forward(
        self, input_ids: Tensor, vectors: Tensor, real: Tensor, past_key_values: Cache, start: int = 0, **kwargs: Others
    ) -> CausalLMOutputWithPast:
        """The scores of the next tokens."""
        logits = self.network(input_ids, vectors, real, start, past_key_values)
        return CausalLMOutputWithPast(logits=logits, past_key_values=past_key_values)


@torch.inference_mode()
def generate(
    generator: Generator,
    vectors: Float[Tensor, "texts vectors dim"],
    real: Bool[Tensor, "texts vectors"],
    limits: GenerationLimits,
) -> tuple[Int[Tensor, "texts tokens"], Float[Tensor, "texts tokens"]]:
    """The tokens of every text, ended by the end mark or the limit, and the probability of each."""
    texts = len(vectors)
    config = GenerationConfig(
        bos_token_id=BEGIN,
        eos_token_id=END,
        pad_token_id=END,
        max_new_tokens=limits.tokens,
        num_beams=limits.beams,
        no_repeat_ngram_size=limits.repeats,
        do_sample=False,
        output_scores=limits.beams > 1,
        output_logits=True,
        return_dict_in_generate=True,
    )
    begin = torch.full((texts, 1), BEGIN, device=vectors.device)
    with one_thread():
        out: Generated = generator.generate(
            begin,
            attention_mask=torch.ones_like(begin),
            generation_config=config,
            vectors=vectors,
            real=real,
            past_key_values=DynamicCache(),
        )
        tokens = out.sequences[:, 1:]
        return tokens, _probabilities(generator, out, tokens)


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for the small operators of a step: threads that wait for each other cost more.

    On two busy cores a step of 64 texts takes five times as long with two threads.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _probabilities(generator: Generator, out: Generated, tokens: Int[Tensor, "texts tokens"]) -> Tensor:
    """The probability of every token when it was chosen, by the network alone: limits on repeats do not count."""
    beams = getattr(out, "beam_indices", None)
    logits = torch.stack(out.logits, dim=1).float().log_softmax(dim=-1)[:, : tokens.shape[1]]
    if beams is None:
        return logits.gather(2, tokens[..., None])[..., 0].exp()
    rows = beams[:, : tokens.shape[1]].clamp(min=0)
    steps = torch.arange(tokens.shape[1], device=tokens.device)
    return logits[rows, steps, tokens].exp()
