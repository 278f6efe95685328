"""Records of runs in which arms answered a data set."""

import msgspec

from levelfield.record.schema import Accuracy, DataSet, Failure, Run
from tests.records_builder import make_run

ITEMS = 40
LABELS = tuple(number % 7 for number in range(ITEMS))
PICTURES = DataSet(
    task="imagenet",
    title="ImageNet",
    model="resnet50",
    metrics=("top-1", "top-5"),
    sha256="ab" * 32,
    available=50_000,
    items=tuple(range(100, 100 + ITEMS)),
    labels=LABELS,
    prepared_by={"Pillow": "13.0.0"},
)


def pictures(arm: str, precision: str, wrong: tuple[int, ...]) -> Accuracy:
    """Return answers of an arm of which these are wrong, and every second of them within the first five."""
    answers = tuple(label + 1 if place in wrong else label for place, label in enumerate(LABELS))
    right = tuple(int(place not in wrong) for place in range(ITEMS))
    near = tuple(int(place not in wrong or place % 2 == 0) for place in range(ITEMS))
    return Accuracy(
        "imagenet", "resnet50", precision, "cpu", 1, arm, answers, {"top-1": right, "top-5": near}, equal=True
    )


def judged_run() -> Run:
    """A run with three arms that answered pictures; one failed in bf16, one lost five items there."""
    run = make_run(models=["resnet50"], scenarios=["latency"], precisions=["fp32", "bf16"])
    failure = Failure("load", "unsupported", "jax does not compute resnet50 in bf16.")
    return msgspec.structs.replace(
        run,
        data_sets=(PICTURES,),
        accuracies=(
            pictures("torch", "fp32", (0, 1)),
            pictures("jax", "fp32", (0, 1, 2)),
            pictures("onnxruntime", "fp32", (0, 1)),
            pictures("torch", "bf16", (0, 2, 3, 4, 5, 6)),
            Accuracy("imagenet", "resnet50", "bf16", "cpu", 1, "jax", failure=failure),
        ),
    )
