"""Among how many processes a training is divided, and what is said of what cannot be."""

from functools import partial
from typing import Any

import pytest

from levelfield.errors import LevelfieldError
from levelfield.plan import Selection, make

CPUS = (0, 1, 2, 3)


asked = partial(Selection, scenarios=("training",), models=("mlp",), processes=(1, 2))


def test_every_number_of_processes_is_a_case_with_equal_threads_each() -> None:
    made = make(asked(), available=CPUS)
    assert [block.case.id for block in made.blocks] == [
        "mlp/training/fp32/b1000/t2/cpu",
        "mlp/training/fp32/b1000/t2/cpu/p2",
    ]
    assert (made.processes, made.threads, made.cpus) == ((1, 2), (2,), CPUS)
    assert {arm.id for arm in made.blocks[1].arms} == {"torch", "torch-compile", "tensorflow", "tensorflow-xla", "jax"}
    four = make(asked(processes=(4, 1), threads=(1,)), available=CPUS)
    assert [(block.case.processes, block.case.threads) for block in four.blocks] == [(1, 1), (4, 1)]


def test_a_model_with_batch_norm_is_left_out_and_reported() -> None:
    made = make(asked(models=()), available=CPUS)
    assert {block.case.model for block in made.blocks} == {"mlp", "bert"}
    (warning,) = made.warnings
    assert (warning.code, warning.about) == ("not-divided", "resnet50")
    assert "BatchNorm" in warning.message
    assert set(made.training_batches) == {"mlp", "bert"}


@pytest.mark.parametrize(
    ("changes", "message", "fix"),
    [
        ({"processes": (0,)}, "0 processes cannot train anything.", "--processes"),
        ({"processes": (2, 2)}, "--processes names 2 twice.", "--processes 2."),
        ({"processes": (5,)}, "5 processes were asked for, and this process may use 4 CPUs.", "--processes 4"),
        ({"threads": (2, 4)}, "2 processes with 4 threads each need 8 CPUs", "--threads 2 or fewer"),
        ({"scenarios": ()}, "Only training is divided among processes", "--scenarios training"),
        ({"scenarios": ("training", "latency")}, "Only training is divided among processes", "--scenarios training"),
        ({"models": ("resnet50",)}, "resnet50 is not trained in several processes: its BatchNorm", "--processes"),
        ({"models": ("bert",), "processes": (4,)}, "the reference's batches of 2", "--processes"),
        ({"batches": (7,)}, "A batch of 7 of mlp cannot be divided equally among 2", "multiples of 2"),
        ({"backends": ("onnxruntime",)}, "onnxruntime cannot train", "torch"),
    ],
)
def test_what_cannot_be_divided_says_why(changes: dict[str, Any], message: str, fix: str) -> None:
    with pytest.raises(LevelfieldError) as caught:
        make(asked(**changes), available=CPUS)
    assert message in caught.value.message
    assert fix in caught.value.fix
