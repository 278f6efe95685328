"""Independent implementations, with our weights and in float64, agree with the reference to rounding."""

import numpy as np
import pytest

from levelfield.zoo import bits, decoder, inputs, models, parity, reference, weights
from levelfield.zoo.decoder import reference as decoder_reference

torch = pytest.importorskip("torch", reason="torch is not installed here")
transformers = pytest.importorskip("transformers", reason="transformers is not installed here")

pytestmark = [pytest.mark.framework, pytest.mark.filterwarnings("ignore")]

FLOAT64_ROUNDING = 1e-12


def test_bert_is_that_of_transformers(bert_weights: weights.Arrays) -> None:
    model = models.get("bert")
    w, batch = bert_weights, inputs.make(model, 0, 2)
    config = transformers.BertConfig(attn_implementation="eager")
    assert (config.layer_norm_eps, config.hidden_act) == (1e-12, "gelu")
    oracle = transformers.BertModel(config, add_pooling_layer=False).double().eval()
    missing, unexpected = oracle.load_state_dict({k: torch.tensor(v).double() for k, v in w.items()}, strict=False)
    assert unexpected == []
    assert [name for name in missing if "position_ids" not in name and "token_type_ids" not in name] == []
    with torch.inference_mode():
        tensors = {name: torch.from_numpy(array).long() for name, array in batch.items()}
        output = oracle(**tensors).last_hidden_state.numpy()
    assert parity.compare(output, reference.run(model, w, batch)).relative_l2 < FLOAT64_ROUNDING


@pytest.mark.parametrize("name", ["bert-squad", "bert-classifier-3"])
def test_the_heads_of_bert_are_those_of_transformers(bert_weights: weights.Arrays, name: str) -> None:
    model = models.get(name)
    heads = [each for each in model.parameters if each.name not in bert_weights]
    w = bert_weights | {each.name: bits.scaled(each.name, each.shape, std=each.std) for each in heads}
    config = transformers.BertConfig(attn_implementation="eager", num_labels=model.output.shape[-1])
    kind = "QuestionAnswering" if name == "bert-squad" else "SequenceClassification"
    oracle = getattr(transformers, f"BertFor{kind}")(config).double().eval()
    own = tuple(each.name for each in heads if not each.name.startswith("pooler"))
    state = {k if k in own else f"bert.{k}": torch.tensor(v).double() for k, v in w.items()}
    missing, unexpected = oracle.load_state_dict(state, strict=False)
    assert unexpected == []
    assert [each for each in missing if "position_ids" not in each and "token_type_ids" not in each] == []
    batch = inputs.make(model, 0, 1)
    with torch.inference_mode():
        found = oracle(**{each: torch.from_numpy(array).long() for each, array in batch.items()})
    ends = (found.start_logits, found.end_logits) if name == "bert-squad" else None
    output = found.logits if ends is None else torch.stack(ends, dim=-1)
    errors = parity.compare(output.numpy(), reference.run(model, w, batch))
    assert errors.relative_l2 < FLOAT64_ROUNDING


def test_the_decoder_is_that_of_transformers() -> None:
    w = weights.make(models.get("decoder"))
    ids = np.stack([decoder.seeded_tokens(name, 160) for name in ("one", "two")])
    config = transformers.LlamaConfig(
        vocab_size=decoder.VOCABULARY,
        hidden_size=decoder.HIDDEN,
        intermediate_size=decoder.INNER,
        num_hidden_layers=decoder.LAYERS,
        num_attention_heads=decoder.HEADS,
        num_key_value_heads=decoder.KEY_HEADS,
        max_position_embeddings=decoder.CONTEXT,
        rms_norm_eps=decoder.EPSILON,
        attn_implementation="eager",
    )
    oracle = transformers.LlamaForCausalLM(config).double().eval()
    oracle.load_state_dict({name: torch.tensor(array).double() for name, array in w.items()}, strict=True)
    expected = decoder_reference.logits(w, ids, 0)

    def error() -> float:
        with torch.inference_mode():
            return parity.compare(oracle(torch.from_numpy(ids).long()).logits.numpy(), expected).relative_l2

    # Its angles, its norms and its softmax are float32, whatever its type: with our angles, the last two remain.
    assert error() < 1e-5
    tables = [torch.from_numpy(table[:160])[None] for table in decoder.rotations()]
    oracle.model.rotary_emb.forward = lambda *_, **__: tables
    assert error() < 5e-7


def test_the_embedder_pools_as_sentence_transformers_says() -> None:
    """Mean over the tokens of the mask, by hand, sentence by sentence; and unit length."""
    model = models.get("embedder")
    w, batch = weights.make(model), inputs.make(model, 0, 2)
    found = reference.run(model, w, batch)
    hidden = reference.run(models.get("bert"), w, batch)
    for sentence, mask, tokens in zip(found, batch["attention_mask"], hidden, strict=True):
        mean = np.mean([token for token, real in zip(tokens, mask, strict=True) if real], axis=0)
        assert np.allclose(sentence, mean / np.linalg.norm(mean), rtol=1e-13, atol=0)
