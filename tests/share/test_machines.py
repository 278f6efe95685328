"""Machines side by side: which run stands for each, and which rankings agree."""

import msgspec
import pytest

from levelfield.analysis import analyse
from levelfield.record.schema import Run
from levelfield.share import machines
from levelfield.share.machines import Ranking
from levelfield.share.runs import Entry, Matrix, matrix_of
from tests.records_builder import make_run
from tests.share.shelves import made


def measured(run: Run, machine: str) -> Entry:
    found = matrix_of(analyse(run))
    return Entry(run.id, run.started, "", "", machine, "", "docker", (), (), (), (), "", "", found)


def test_each_machine_is_shown_by_the_newest_run_of_each_case() -> None:
    other = make_run(models=("resnet50",), scenarios=("latency",))
    newest, strange, older, oldest = (
        measured(msgspec.structs.replace(run, id=name), machine)
        for run, name, machine in (
            (made(4), "newest", "a"), (other, "strange", "b"), (made(2), "older", "b"), (other, "oldest", "c"),
        )
    )  # fmt: skip
    labelled = msgspec.structs.replace(newest, labels=("smoke",))
    nothing = msgspec.structs.replace(newest, matrix=Matrix())
    shown = machines.newest([labelled, nothing, newest, strange, older, oldest])
    assert list(shown) == [newest, strange, older, oldest]


def test_a_case_of_one_machine_is_not_side_by_side() -> None:
    assert machines.shared([measured(made(1), "a")]) == ()
    alone = make_run(models=("mlp",), scenarios=("latency",), backends=("onnxruntime",))
    assert machines.shared([measured(made(1), "a"), measured(alone, "b")]) == (), "one arm in common is no ranking"


@pytest.mark.parametrize(
    ("slower", "ranking", "says"),
    [({}, "agrees", "1 pair in the same order"), ({"onnxruntime": 50.0}, "differs", "openvino before onnxruntime")],
)
def test_a_ranking_is_compared_with_that_of_the_first_machine(
    slower: dict[str, float], ranking: Ranking, says: str
) -> None:
    make = {"models": ("mlp",), "scenarios": ("latency",), "backends": ("onnxruntime", "openvino"), "noise_scale": 0.1}
    first, other = (make_run(**make, slower=of) for of in ({}, slower))  # type: ignore[arg-type]  # by name
    (found,) = machines.shared([measured(first, "a"), measured(other, "b")])
    assert [place.run.machine for place in found.places] == ["a", "b"]
    assert (found.places[0].ranking, found.places[1].ranking) == ("", ranking)
    assert found.places[1].says == says
    assert found.agrees == (ranking == "agrees")
    assert all(cell is not None for place in found.places for cell in place.cells)


def test_arms_that_share_a_rank_contradict_nothing() -> None:
    first, tied = measured(made(1), "a"), measured(made(2), "b")
    ranks = {case: dict.fromkeys(of, 1) for case, of in tied.matrix.ranks.items()}
    tied = msgspec.structs.replace(tied, matrix=msgspec.structs.replace(tied.matrix, ranks=ranks))
    (found,) = machines.shared([first, tied])
    assert (found.places[1].ranking, found.agrees, found.undecided) == ("not decided", False, True)
    (found,) = machines.shared([first, tied, msgspec.structs.replace(first, machine="c")])
    assert [place.ranking for place in found.places] == ["", "not decided", "agrees"]
    assert (found.agrees, found.undecided) == (False, True)
