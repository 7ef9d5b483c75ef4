"""A packed network says what the network it was made of says."""

import pytest
import torch
from transformers import BertConfig, BertModel, RobertaConfig, RobertaModel

from models.packed import packed_bert

CPU = torch.device("cpu")
SMALL = {"vocab_size": 40, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 40}


def bert(**settings: object) -> BertModel:
    torch.manual_seed(5)
    return BertModel(BertConfig(**SMALL, initializer_range=0.5, **settings), add_pooling_layer=False).eval()


@pytest.mark.parametrize(
    ("in_halves", "with_onednn"), [(True, True), (False, True), (False, False)], ids=["fbgemm", "onednn", "plain"]
)
@pytest.mark.parametrize("lengths", [[1], [9], [40], [7, 3, 1], [30, 2]])
def test_hidden_states_are_the_same(
    lengths: list[int], in_halves: bool, with_onednn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: with_onednn)
    model = bert().half().float() if in_halves else bert()
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    ids = torch.randint(0, 40, mask.shape, generator=torch.Generator().manual_seed(1)) * mask
    with torch.inference_mode():
        wanted = model(input_ids=ids, attention_mask=mask).last_hidden_state
    torch.testing.assert_close(packed_bert(model, CPU)(ids, mask)[mask], wanted[mask], atol=1e-4, rtol=1e-4)


def test_no_digit_of_a_weight_is_lost() -> None:
    model = bert()
    needs_all = model.encoder.layer[0].output.dense
    with torch.no_grad():
        needs_all.weight.fill_(1 + 2.0**-14)
        needs_all.bias.zero_()
        found = packed_bert(model, CPU)._layers[0].contract(torch.ones(1, 40))
    torch.testing.assert_close(found, torch.full((1, 24), 40 * (1 + 2.0**-14)), rtol=1e-6, atol=0)


def test_what_cannot_be_packed_is_left_as_it_is() -> None:
    roberta = RobertaModel(RobertaConfig(**SMALL), add_pooling_layer=False)
    assert packed_bert(roberta, CPU) is None
    assert packed_bert(bert(hidden_act="relu"), CPU) is None
    assert packed_bert(bert(is_decoder=True), CPU) is None
    assert packed_bert(bert(), torch.device("meta")) is None
