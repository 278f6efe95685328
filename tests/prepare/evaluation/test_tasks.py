from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from levelfield.prepare.evaluation import tasks
from levelfield.prepare.evaluation.tasks import TASKS, DataRequest
from levelfield.record.schema import DataSet
from levelfield.zoo import models

BEFORE = DataSet("imagenet", "ImageNet", "resnet50", ("top-1",), "a" * 64, 9, (0, 3))


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
    assert tasks.read([f"squad{typed}=x"], profile)[0].items == items


def test_a_data_set_chooses_the_network() -> None:
    squad, sst2, imagenet = (DataRequest(name, Path("x")) for name in ("squad", "glue-sst2", "imagenet"))
    assert tasks.networks((), ()) == ()
    assert tasks.networks(("bert", "mlp"), (squad,)) == ("bert-squad", "mlp")
    assert tasks.networks(("bert",), (squad, sst2)) == ("bert-squad", "bert-classifier-2")
    assert tasks.networks((), (imagenet, squad)) == ("resnet50", "bert-squad")
    with pytest.raises(LevelfieldError, match="None of mlp answers ImageNet"):
        tasks.networks(("mlp",), (imagenet,))


def test_a_run_goes_on_with_what_it_answered() -> None:
    given = DataRequest("imagenet", Path("x"), items=500)
    assert tasks.repeat([given], [BEFORE], needed=True)[0].items == 2
    assert tasks.repeat([], [BEFORE], needed=False) == ()
    with pytest.raises(LevelfieldError, match="That run answers ImageNet too"):
        tasks.repeat([], [BEFORE], needed=True)
    with pytest.raises(LevelfieldError, match="That run did not answer imagenet"):
        tasks.repeat([given], [], needed=False)


def test_other_data_are_refused() -> None:
    tasks.check_same([BEFORE], [BEFORE])
    changed = DataSet("imagenet", "ImageNet", "resnet50", ("top-1",), "b" * 64, 9, (0, 3))
    with pytest.raises(LevelfieldError, match="ImageNet is not what was answered before"):
        tasks.check_same([changed], [BEFORE])
