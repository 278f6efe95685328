"""Weights are kept under names that say what they are; what a record says of them is held against what is kept."""

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from levelfield.errors import LevelfieldError
from levelfield.machine import findings
from levelfield.plan import Selection, make
from levelfield.prepare.own_weights import families, store
from levelfield.prepare.own_weights.folder import Mapped
from levelfield.record.schema import OwnWeights
from levelfield.zoo import models as zoo
from levelfield.zoo import weights
from levelfield.zoo.resnet50 import Sizes
from tests.prepare.own_weights import saved

pytestmark = pytest.mark.usefixtures("cache")


def kept_of(path: Path) -> OwnWeights:
    (kept,) = store.keep(path)
    return kept


def refused(path: Path) -> LevelfieldError:
    with pytest.raises(LevelfieldError) as caught:
        store.keep(path)
    assert caught.value.fix
    return caught.value


def test_a_record_says_what_but_not_where(tmp_path: Path) -> None:
    kept = kept_of(saved.bert(tmp_path / "secret-name"))
    said = msgspec.json.encode(kept).decode()
    assert "secret" not in said
    assert str(tmp_path) not in said
    assert (kept.config["hidden_size"], kept.family, kept.dtypes) == ("64", "bert", ("F32",))
    assert kept.model.startswith(f"bert-{kept.sha256[:8]}+layers=2")


def test_tensors_of_a_network_with_a_head_and_of_old_checkpoints_are_found(tmp_path: Path) -> None:
    kept = kept_of(saved.bert(tmp_path / "plain"))
    tensors = saved.random_tensors(zoo.get(kept.model))
    old = {
        f"bert.{name}".replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): array
        for name, array in tensors.items()
    }
    old["cls.predictions.bias"] = np.zeros(120, np.float32)
    old["bert.embeddings.position_ids"] = np.zeros((1, 48), np.int64)
    found = kept_of(saved.folder(tmp_path / "old", saved.BERT, old))
    assert np.array_equal(
        store.file_of(found.model).read_bytes()[weights.HEADER_BYTES :],
        store.file_of(kept.model).read_bytes()[weights.HEADER_BYTES :],
    )


def changed(path: Path, **fields: Any) -> Path:
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | fields))
    return path


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"model_type": "t5"}, "family 't5'"),
        ({"hidden_act": "gelu_new"}, "hidden_act is 'gelu_new'"),
        ({"hidden_size": -64}, "Expected `int` >= 1"),
        ({"num_attention_heads": 5}, "not divided into 5 heads"),
        (
            {"model_type": "llama", "hidden_act": "silu", "num_attention_heads": 0, "head_dim": 0},
            "not divided into 0 heads",
        ),
        ({"hidden_size": 1 << 16, "intermediate_size": 1 << 18, "num_hidden_layers": 256}, "parameters"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type"),
        ({"num_hidden_layers": 3}, "holds no tensor encoder.layer.2"),
        ({"num_hidden_layers": 1}, "holds encoder.layer.1"),
        ({"vocab_size": 121}, "120 × 64, and config.json says 121 × 64"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_configuration_that_does_not_fit_is_refused(tmp_path: Path, fields: dict[str, Any], says: str) -> None:
    error = refused(changed(saved.bert(tmp_path / "bert"), **fields))
    assert says in error.message
    assert "config.json" in error.message or "safetensors" in error.message or "holds no tensor" in error.message


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_configuration_is_refused(tmp_path: Path, content: bytes) -> None:
    path = saved.bert(tmp_path / "bert")
    (path / "config.json").write_bytes(content)
    assert "config.json" in refused(path).message


def test_names_of_layers_are_made_once_for_all_tensors() -> None:
    made = iter([{"a": "b"}])
    tensors = families._by_layer(lambda _: next(made))
    assert (tensors(Sizes(), "a.weight"), tensors(Sizes(), "a.bias")) == (("b.weight",), ("b.bias",))


@pytest.mark.parametrize(
    ("name", "dtype", "says"),
    [
        ("cls.x", "U8", "and its network needs"),
        ("x", "U8", "has no place for"),
        ("embeddings.word_embeddings.weight", "F4", "as F4"),
        ("", "", "cannot be copied"),
    ],
)
def test_no_file_is_hashed_that_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, dtype: str, says: str
) -> None:
    monkeypatch.setattr(Mapped, "sha256", property(lambda _: pytest.fail("it was hashed")))
    if not name:
        monkeypatch.setattr(findings, "disk", lambda *_: findings.bad("disk", "It is full.", "Free some."))
    file = saved.bert(tmp_path / "bert") / "model.safetensors"
    content, large = file.read_bytes(), 4 << 30 if name else 0
    length = 8 + int.from_bytes(content[:8], "little")
    at = len(content) - length if dtype != "F4" else 0
    header = json.loads(content[8:length]) if at else {}
    if name:
        header[name] = {"dtype": dtype, "shape": [large], "data_offsets": [at, at + large]}
    file.write_bytes(saved.framed(json.dumps(header).encode(), content[length:][:at]))
    os.truncate(file, file.stat().st_size + large)
    assert says in refused(file.parent).message


def test_an_interrupted_conversion_is_made_again(tmp_path: Path) -> None:
    path = saved.bert(tmp_path / "bert")
    kept = kept_of(path)
    content = store.file_of(kept.model).read_bytes()
    store.file_of(kept.model).write_bytes(content[:-4])
    with pytest.raises(LevelfieldError, match="--model FOLDER"):
        store.find_recorded(kept)
    assert kept_of(path) == kept
    assert store.file_of(kept.model).read_bytes() == content


def test_what_a_record_names_is_found_by_its_digest(tmp_path: Path) -> None:
    kept = kept_of(saved.bert(tmp_path / "bert"))
    assert store.find_recorded(kept) == kept
    assert store.artifact(kept).sha256 == kept.sha256
    for strange in (
        msgspec.structs.replace(kept, sha256="../../etc"),
        msgspec.structs.replace(kept, sha256="0" * 64),
        msgspec.structs.replace(kept, model="../../etc"),
        msgspec.structs.replace(kept, model=f"bert-{kept.sha256[:8]}"),
        msgspec.structs.replace(kept, config=kept.config | {"hidden_size": "65"}),
    ):
        with pytest.raises(LevelfieldError):
            store.find_recorded(strange)


@pytest.fixture
def network(tmp_path: Path) -> Path:
    return saved.bert(tmp_path / "bert")


def test_a_plan_measures_them_on_what_takes_them(network: Path) -> None:
    kept, models = store.read((network,), ())
    backends = ("torch", "keras-torch", "onnxruntime")
    selection = Selection("full", models=models, own_weights=kept, backends=backends, control="none")
    made = make(selection, available=(0, 1))
    assert made.own_weights == kept
    assert made.models == models
    assert {block.case.scenario for block in made.blocks} == {"latency", "throughput", "cold-start", "memory"}
    assert made.batches[models[0]] == (4, 8, 16)
    assert "keras-torch" not in {arm.id for arm in made.answering}
    with pytest.raises(LevelfieldError, match="no recipe"):
        make(Selection(models=models, own_weights=kept, scenarios=("training",)), available=(0, 1))
    with pytest.raises(LevelfieldError, match="There is no model"):
        make(Selection(models=models), available=(0, 1))


def test_a_record_gets_what_it_names(tmp_path: Path, network: Path) -> None:
    recorded = store.keep(network)
    store.keep_recorded((network,), recorded)
    store.keep_recorded((), ())
    with pytest.raises(LevelfieldError, match="is not the folder that was measured"):
        store.keep_recorded((saved.bert(tmp_path / "other", initializer_range=0.5),), recorded)
    with pytest.raises(LevelfieldError, match="no weights of its author's own"):
        store.keep_recorded((network,), ())


def test_a_head_is_read_where_a_data_set_asks_for_it(tmp_path: Path, network: Path) -> None:
    path = saved.classifier(tmp_path / "classifier", 3)
    (plain,), _ = store.read((path,), ("bert",))
    (kept,), models = store.read((path,), ("bert",), headed=True)
    assert plain.sha256 == kept.sha256
    assert plain.model.startswith(f"bert-{plain.sha256[:8]}")
    assert models == (kept.model,)
    assert kept.model.endswith("+classes=3")
    assert zoo.get(kept.model).output.shape == (3,)
    with pytest.raises(LevelfieldError, match=r"there is no classifier classifier\.weight"):
        store.read((network,), ("bert",), headed=True)
