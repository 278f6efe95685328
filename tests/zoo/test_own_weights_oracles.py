"""Networks that the transformers library saved are read, and answer as the library itself does from the same folder."""

from pathlib import Path
from typing import Any

import pytest

from levelfield.prepare.own_weights import store
from levelfield.zoo import inputs, models, parity, reference, weights

torch = pytest.importorskip("torch", reason="torch is not installed here")
transformers = pytest.importorskip("transformers", reason="transformers is not installed here")

pytestmark = [pytest.mark.framework, pytest.mark.filterwarnings("ignore")]

EXACT, ANGLES = 1e-10, 1e-5
"""In float64; of Llama the library computes angles, norms and softmax in float32 whatever the type."""
ENCODER = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96}
DECODER = ENCODER | {"vocab_size": 130, "max_position_embeddings": 160, "num_key_value_heads": 2}
LLAMA31 = {
    "rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}  # fmt: skip
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("BertModel", ENCODER | {"vocab_size": 2500, "max_position_embeddings": 160, "layer_norm_eps": 1e-6}),
    "bert with a head": ("BertForMaskedLM", ENCODER | {"vocab_size": 130, "max_position_embeddings": 40}),
    "llama": (
        "LlamaForCausalLM",
        DECODER | {"rms_norm_eps": 1e-6, "rope_parameters": {"rope_type": "default", "rope_theta": 50000.0}},
    ),
    "llama 3.1": (
        "LlamaForCausalLM",
        DECODER | {"head_dim": 32, "num_key_value_heads": 1, "tie_word_embeddings": True, "rope_parameters": LLAMA31},
    ),
    "mistral": ("MistralForCausalLM", DECODER | {"sliding_window": None}),
    "vit": ("ViTForImageClassification", ENCODER | {"image_size": 48, "patch_size": 8, "num_labels": 7}),
    "resnet": (
        "ResNetForImageClassification",
        {"embedding_size": 16, "hidden_sizes": [32, 64], "depths": [2, 1], "layer_type": "bottleneck", "num_labels": 5},
    ),
    "mobilenet": ("MobileNetV2ForImageClassification", {"depth_multiplier": 0.35, "image_size": 96, "num_labels": 6}),
    "mobilenet with plain padding": (
        "MobileNetV2ForImageClassification",
        {"depth_multiplier": 1.4, "image_size": 64, "tf_padding": False, "num_labels": 3},
    ),
}


def stirred(network: Any) -> Any:
    """Give a network healthy values everywhere: initial biases are zero, and would hide a wrong place."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, each in (*network.named_parameters(), *network.named_buffers()):
            if name.endswith("inv_freq") or not each.is_floating_point():
                continue
            if name.endswith("running_var") or (each.ndim == 1 and name.endswith("weight")):
                each.uniform_(0.7, 1.3, generator=generator)
            elif each.ndim in {2, 4}:
                each.normal_(0, each[0].numel() ** -0.5, generator=generator)
            else:
                each.uniform_(-0.2, 0.2, generator=generator)
    return network.eval()


def answered(folder: Path, kind: str, given: weights.Arrays) -> Any:
    """Return what the library's own class answers from a folder, in float64."""
    if kind == "BertForMaskedLM":
        kind = "BertModel"
    attention = None if "Image" in kind else "eager"
    network = getattr(transformers, kind).from_pretrained(folder, attn_implementation=attention).double().eval()
    tensors = {name: torch.from_numpy(array) for name, array in given.items()}
    with torch.inference_mode():
        if "images" in tensors:
            return network(tensors["images"].double()).logits.numpy()
        found = network(**{name: tensor.long() for name, tensor in tensors.items()})
    return found.last_hidden_state.numpy() if kind == "BertModel" else found.logits[:, -1].numpy()


@pytest.mark.parametrize(
    ("case", "dtype"), [*((case, "float32") for case in CASES), ("llama", "bfloat16"), ("vit", "bfloat16")]
)
def test_a_saved_network_answers_as_the_library_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, dtype: str
) -> None:
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path / "cache"))
    kind, fields = CASES[case]
    theirs = getattr(transformers, kind)
    network = stirred(theirs(theirs.config_class(**fields))).to(getattr(torch, dtype))
    network.save_pretrained(tmp_path / "saved", max_shard_size="60KB" if case == "vit" else "5GB")
    (kept,) = store.keep(tmp_path / "saved")
    assert kept.dtypes == ("BF16" if dtype == "bfloat16" else "F32",)
    model = models.get(kept.model)
    given = inputs.make(model, 0, 2)
    expected = reference.run(model, weights.load(store.file_of(kept.model), model), given)
    errors = parity.compare(answered(tmp_path / "saved", kind, given), expected)
    most = ANGLES if kind.endswith("CausalLM") else EXACT
    assert errors.relative_l2 < most
    assert errors.centred_relative_l2 is not None
    assert errors.centred_relative_l2 < 10 * most
