"""Which data sets there are, and what `--data` chooses."""

from pathlib import Path

import pytest

from levelfield.cli.measure import bench
from levelfield.errors import LevelfieldError
from levelfield.prepare.own_weights import store as own_weights
from levelfield.run.options import options_of
from levelfield.schedule import data_sets
from levelfield.schedule.data_sets import DataRequest
from levelfield.zoo import models
from levelfield_datasets import preparing, tasks
from levelfield_datasets.answering import HOOKS
from levelfield_datasets.tasks import TASKS
from tests.prepare.own_weights import saved


def test_every_task_is_answered_by_a_network_of_its_shape() -> None:
    for task in TASKS.values():
        for network in task.networks.values():
            output = models.get(network).output.shape
            classes = len(task.table.classes) if task.table is not None else 0
            assert output == {"pictures": (1000,), "questions": (384, 2), "sentences": (max(1, classes),)}[task.kind]


def test_a_set_has_a_name_and_a_place() -> None:
    assert tasks.read(["imagenet=/x/val"], "full") == (DataRequest("imagenet", Path("/x/val")),)
    for values, said in (
        (["imagenet"], "does not say where"),
        (["imagenet="], "does not say where"),
        (["squat=x"], "squad"),
        (["squad=x", "squad:7=y"], "twice"),
        *(([f"squad:{count}=x"], "neither|nor all") for count in ("", "0", "-1", "²", "1000001", "9" * 400)),
    ):
        with pytest.raises(LevelfieldError, match=said):
            tasks.read(values, "smoke")


@pytest.mark.parametrize(
    ("typed", "profile", "items"),
    [("", "smoke", 32), ("", "standard", 500), ("", "full", None), (":7", "full", 7), (":all", "smoke", None)],
)
def test_items_are_those_of_the_profile_unless_typed(typed: str, profile: str, items: int | None) -> None:
    assert tasks.read([f"squad{typed}=x"], profile) == (DataRequest("squad", Path("x"), items, texts=True),)


def test_a_data_set_chooses_the_network() -> None:
    squad, sst2, imagenet = (DataRequest(name, Path("x")) for name in ("squad", "glue-sst2", "imagenet"))
    assert tasks.networks(("bert", "mlp"), (squad,)) == ("bert-squad", "mlp")
    assert tasks.networks(("bert",), (squad, sst2)) == ("bert-squad", "bert-classifier-2")
    assert tasks.networks((), (imagenet, squad)) == ("resnet50", "bert-squad")
    with pytest.raises(LevelfieldError, match="None of mlp answers ImageNet"):
        tasks.networks(("mlp",), (imagenet,))


def test_what_is_typed_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_sets, "hooks", lambda: HOOKS)
    words = ["--models", "bert,mlp", "--data", "squad:7=/x/dev.json"]
    made = options_of(bench.make_context("bench", words).params)
    assert made.selection.models == ("bert-squad", "mlp")
    assert made.data_sets == (DataRequest("squad", Path("/x/dev.json"), 7, texts=True),)


def test_a_head_of_ones_own_answers_what_it_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path / "cache"))
    path = saved.classifier(tmp_path / "classifier", 3)
    _, named = own_weights.read((path,), ("bert",), headed=True)
    assert tasks.networks(named, (DataRequest("glue-mnli", path),)) == named
    with pytest.raises(LevelfieldError, match="answers GLUE SST-2"):
        tasks.networks(named, (DataRequest("glue-sst2", path),))


def test_a_smaller_choice_lies_within_a_larger_one() -> None:
    names = [f"{number:05}.JPEG" for number in range(500)]
    few, many = (set(preparing.drawn(names, most)) for most in (20, 100))
    assert len(few) == 20
    assert few < many
    assert preparing.drawn(names, None) == preparing.drawn(names, 500) == tuple(range(500))
    assert list(preparing.drawn(names, 20)) == sorted(few)
    assert max(few) > 400, "spread over all of them, and not the first"
