"""What a plan says it needs."""

from levelfield.plan import Selection, make
from levelfield.plan.types import FileKey

CPUS = (0, 1, 2, 3)


def test_without_onnx_readers_no_exporter() -> None:
    assert not make(Selection(backends=("jax", "torch")), available=CPUS).exporters
    assert make(Selection(backends=("jax", "openvino")), available=CPUS).exporters


def test_who_cannot_answer_stands_in_the_block_and_needs_no_image() -> None:
    selection = Selection(models=("mlp",), scenarios=("latency",), precisions=("int8",), control="none")
    made = make(selection, available=CPUS)
    assert len(made.blocks[0].arms) == 7
    assert {arm.id for arm in made.answering} == {"onnxruntime", "openvino"}
    assert made.images == ("onnxruntime", "openvino", "canary")
    assert made.files == (FileKey("mlp", "int8", 1),)


def test_openvino_computes_bf16_from_the_file_in_fp32() -> None:
    made = make(Selection(models=("mlp",), scenarios=("latency",), precisions=("bf16", "fp32")), available=CPUS)
    assert made.files == (FileKey("mlp", "fp32", 1),)
