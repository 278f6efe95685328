"""Independent implementations, with our weights and in float64, agree with the reference to rounding."""

from collections.abc import Iterator

import numpy as np
import pytest

from levelfield.zoo import bits, inputs, models, parity, reference, weights
from levelfield.zoo.decoder import reference as decoder_reference
from levelfield.zoo.decoder import spec as decoder
from levelfield.zoo.mobilenet.spec import BLOCKS, convolutions
from levelfield.zoo.resnet50.spec import EPSILON, RESNET50

torch = pytest.importorskip("torch", reason="torch is not installed here")
transformers = pytest.importorskip("transformers", reason="transformers is not installed here")

pytestmark = [pytest.mark.framework, pytest.mark.filterwarnings("ignore")]

FLOAT64_ROUNDING = 1e-12
PROJECTIONS = {block.project.name for block in BLOCKS}


def test_bert_is_that_of_transformers(bert_weights: weights.Arrays) -> None:
    model = models.get("bert")
    w, batch = bert_weights, inputs.make(model, 0, 2)
    config = transformers.BertConfig(attn_implementation="eager")
    assert config.layer_norm_eps == 1e-12
    assert config.hidden_act == "gelu"
    oracle = transformers.BertModel(config, add_pooling_layer=False).double().eval()
    missing, unexpected = oracle.load_state_dict({k: torch.tensor(v).double() for k, v in w.items()}, strict=False)
    assert unexpected == []
    assert [name for name in missing if "position_ids" not in name and "token_type_ids" not in name] == []
    with torch.inference_mode():
        tensors = {name: torch.from_numpy(array).long() for name, array in batch.items()}
        output = oracle(**tensors).last_hidden_state.numpy()
    errors = parity.compare(output, reference.run(model, w, batch))
    assert errors.relative_l2 < FLOAT64_ROUNDING


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


def _transformers_names() -> Iterator[tuple[str, str]]:
    """Yield (ours, theirs) for every convolution and norm."""
    stem = "resnet.embedder.embedder"
    yield "conv1", f"{stem}.convolution"
    yield "bn1", f"{stem}.normalization"
    for stage in range(len(RESNET50.stages)):
        for index, (block, _) in enumerate(RESNET50.blocks(stage)):
            there = f"resnet.encoder.stages.{stage}.layers.{index}"
            for part in range(3):
                yield f"{block}.conv{part + 1}", f"{there}.layer.{part}.convolution"
                yield f"{block}.bn{part + 1}", f"{there}.layer.{part}.normalization"
            if index == 0:
                yield f"{block}.downsample.0", f"{there}.shortcut.convolution"
                yield f"{block}.downsample.1", f"{there}.shortcut.normalization"
    yield "fc", "classifier.1"


def test_resnet50_is_that_of_transformers(resnet50_weights: weights.Arrays) -> None:
    model = models.get("resnet50")
    w, batch = resnet50_weights, inputs.make(model, 0, 2)
    config = transformers.ResNetConfig(downsample_in_bottleneck=False, num_labels=1000)
    oracle = transformers.ResNetForImageClassification(config).double().eval()
    state = {}
    for ours, theirs in _transformers_names():
        for name, array in w.items():
            if name.rpartition(".")[0] == ours:
                state[f"{theirs}.{name.rpartition('.')[2]}"] = torch.tensor(array).double()
    assert len(state) == len(w)
    missing, unexpected = oracle.load_state_dict(state, strict=False)
    assert unexpected == []
    assert all(name.endswith("num_batches_tracked") for name in missing)
    with torch.inference_mode():
        output = oracle(torch.from_numpy(batch["images"]).double()).logits.numpy()
    errors = parity.compare(output, reference.run(model, w, batch))
    assert errors.relative_l2 < FLOAT64_ROUNDING


VIT_PARTS = {
    "encoder.layer.": "layers.",
    "attention.attention.query": "attention.q_proj",
    "attention.attention.key": "attention.k_proj",
    "attention.attention.value": "attention.v_proj",
    "attention.output.dense": "attention.o_proj",
    "intermediate.dense": "mlp.fc1",
    "output.dense": "mlp.fc2",
}
"""Names in published checkpoints, which are ours, and in transformers 5."""


def _vit_name(ours: str) -> str:
    for part, there in VIT_PARTS.items():
        ours = ours.replace(part, there)
    return ours if ours.startswith("classifier") else f"vit.{ours}"


def test_vit_is_that_of_transformers() -> None:
    model = models.get("vit")
    w, batch = weights.make(model), inputs.make(model, 0, 2)
    config = transformers.ViTConfig(attn_implementation="sdpa", num_labels=1000)  # its plain softmax is in float32
    assert config.layer_norm_eps == 1e-12
    assert config.hidden_act == "gelu"
    oracle = transformers.ViTForImageClassification(config).double().eval()
    state = {_vit_name(name): torch.tensor(array).double() for name, array in w.items()}
    oracle.load_state_dict(state, strict=True)
    with torch.inference_mode():
        output = oracle(torch.from_numpy(batch["images"]).double()).logits.numpy()
    errors = parity.compare(output, reference.run(model, w, batch))
    assert errors.relative_l2 < FLOAT64_ROUNDING


def _mobilenet_names() -> Iterator[tuple[str, str]]:
    """Yield (ours, theirs) for every convolution with its norm, and the classifier."""
    yield "features.0", "mobilenet_v2.conv_stem.first_conv"
    first, *others = BLOCKS
    yield _parent(first.depthwise.name), "mobilenet_v2.conv_stem.conv_3x3"
    yield first.project.name, "mobilenet_v2.conv_stem.reduce_1x1"
    for index, block in enumerate(others):
        there = f"mobilenet_v2.layer.{index}"
        assert block.expand is not None
        yield _parent(block.expand.name), f"{there}.expand_1x1"
        yield _parent(block.depthwise.name), f"{there}.conv_3x3"
        yield block.project.name, f"{there}.reduce_1x1"
    yield "features.18", "mobilenet_v2.conv_1x1"


def _parent(name: str) -> str:
    return name.rpartition(".")[0]


def test_mobilenet_is_that_of_transformers() -> None:
    model = models.get("mobilenet")
    w, batch = weights.make(model), inputs.make(model, 0, 2)
    config = transformers.MobileNetV2Config(tf_padding=False, layer_norm_eps=EPSILON, num_labels=1000)
    oracle = transformers.MobileNetV2ForImageClassification(config).double().eval()
    theirs = oracle.state_dict()
    state = {f"classifier.{part}": torch.tensor(w[f"classifier.1.{part}"]).double() for part in ("weight", "bias")}
    norms = {_parent(conv.name) if conv.name not in PROJECTIONS else conv.name: conv for conv in convolutions()}
    for ours, there in _mobilenet_names():
        conv = norms[ours]
        state[f"{there}.convolution.weight"] = torch.tensor(w[f"{conv.name}.weight"]).double()
        for part in ("weight", "bias", "running_mean", "running_var"):
            state[f"{there}.normalization.{part}"] = torch.tensor(w[f"{conv.norm}.{part}"]).double()
    assert {name for name in theirs if not name.endswith("num_batches_tracked")} == set(state)
    oracle.load_state_dict(state, strict=False)
    with torch.inference_mode():
        output = oracle(torch.from_numpy(batch["images"]).double()).logits.numpy()
    errors = parity.compare(output, reference.run(model, w, batch))
    assert errors.relative_l2 < FLOAT64_ROUNDING


def test_the_decoder_is_that_of_transformers() -> None:
    model = models.get("decoder")
    w = weights.make(model)
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
