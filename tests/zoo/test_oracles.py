"""Independent implementations, with our weights and in float64, agree with the reference to rounding."""

from collections.abc import Iterator

import pytest

from suite.zoo import inputs, models, parity, reference, weights
from suite.zoo.resnet50.spec import RESNET50

torch = pytest.importorskip("torch", reason="torch is not installed here")
transformers = pytest.importorskip("transformers", reason="transformers is not installed here")

pytestmark = [pytest.mark.framework, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

FLOAT64_ROUNDING = 1e-12


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
