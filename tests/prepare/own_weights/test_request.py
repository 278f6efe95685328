"""Which models are measured where weights are given."""

from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from levelfield.plan import Selection, make
from levelfield.plan.types import why_absent
from levelfield.prepare.own_weights import request, store
from levelfield.zoo import models as zoo
from tests.prepare.own_weights import saved


@pytest.fixture
def network(tmp_path: Path) -> Path:
    return saved.bert(tmp_path / "bert")


def test_without_models_the_folders_alone_are_measured(tmp_path: Path, network: Path) -> None:
    other = saved.bert(tmp_path / "other", initializer_range=0.5)
    kept, models = request.read((network, other), ())
    assert models == tuple(each.model for each in kept)
    assert len(models) == 2


def test_weights_are_taken_by_the_model_of_their_family(network: Path) -> None:
    (kept,), models = request.read((network,), ("mlp", "bert"))
    assert models == ("mlp", kept.model)


def test_without_folders_nothing_changes() -> None:
    assert request.read((), ("mlp", "bert")) == ((), ("mlp", "bert"))
    assert request.read((), ()) == ((), ())


def test_a_family_that_is_not_among_the_models_is_refused(network: Path) -> None:
    with pytest.raises(LevelfieldError, match="has those of bert, and --models names mlp"):
        request.read((network,), ("mlp",))


def test_the_same_content_twice_is_refused(tmp_path: Path, network: Path) -> None:
    with pytest.raises(LevelfieldError, match="twice"):
        request.read((network, saved.bert(tmp_path / "same")), ())


def test_a_plan_measures_them_on_what_takes_them(network: Path) -> None:
    kept, models = request.read((network,), ())
    backends = ("torch", "keras-torch", "transformers", "onnxruntime")
    selection = Selection("full", models=models, own_weights=kept, backends=backends, control="none")
    made = make(selection, available=(0, 1))
    assert made.own_weights == kept
    assert made.models == models
    assert {block.case.scenario for block in made.blocks} == {"latency", "throughput", "cold-start", "memory"}
    assert made.batches[models[0]] == (4, 8, 16)
    assert "keras-torch" not in {arm.id for arm in made.answering}
    assert "transformers" in {arm.id for arm in made.answering}
    with pytest.raises(LevelfieldError, match="no recipe"):
        make(Selection(models=models, own_weights=kept, scenarios=("training",)), available=(0, 1))
    with pytest.raises(LevelfieldError, match="There is no model"):
        make(Selection(models=models), available=(0, 1))


def test_a_record_gets_what_it_names(tmp_path: Path, network: Path) -> None:
    recorded = store.keep(network)
    request.keep_recorded((network,), recorded)
    request.keep_recorded((), ())
    with pytest.raises(LevelfieldError, match="is not the folder that was measured"):
        request.keep_recorded((saved.bert(tmp_path / "other", initializer_range=0.5),), recorded)
    with pytest.raises(LevelfieldError, match="no weights of its author's own"):
        request.keep_recorded((network,), ())


def test_the_text_embedder_takes_weights_of_bert(network: Path) -> None:
    (kept,), models = request.read((network,), ("embedder",))
    assert models == (kept.model,)
    assert kept.model.startswith("embedder-")
    both, models = request.read((network,), ("embedder", "mlp", "bert"))
    assert len(both) == 2
    assert [each.partition("-")[0] for each in models] == ["embedder", "mlp", "bert"]
    request.keep_recorded((network,), both)
    made = make(
        Selection("smoke", models=models, own_weights=both, backends=("torch", "transformers"), control="none"),
        available=(0, 1),
    )
    absent = {block.case.model: why_absent(block.case, block.arms[1]) for block in made.blocks}
    assert absent[models[0]] == "transformers takes no weights of your own for embedder here."
    assert not absent[models[2]]


def test_a_head_is_read_where_a_data_set_asks_for_it(tmp_path: Path, network: Path) -> None:
    path = saved.classifier(tmp_path / "classifier", 3)
    (plain,), _ = request.read((path,), ("bert",))
    (kept,), models = request.read((path,), ("bert",), headed=True)
    assert plain.sha256 == kept.sha256
    assert plain.model.startswith(f"bert-{plain.sha256[:8]}")
    assert models == (kept.model,)
    assert kept.model.endswith("+classes=3")
    assert zoo.get(kept.model).output.shape == (3,)
    with pytest.raises(LevelfieldError, match=r"there is no classifier classifier\.weight"):
        request.read((network,), ("bert",), headed=True)
