"""The id of a result, as reports print it, and every way to mistype one."""

import csv
import io
import os
from functools import partial

import pytest

from levelfield.backends.profiling.operators import Operator
from levelfield.errors import LevelfieldError
from levelfield.launchers.host import HostLauncher
from levelfield.record.schema import Arm, Case
from levelfield.report.export import write_csv
from levelfield.run.explain import COLUMNS, ExplainRequest, as_rows, explain, parse, rows, show
from levelfield.schedule.listener import SilentListener
from tests import canaries
from tests.report import plain
from tests.run.explained import ID, explained, profiled

CORES = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    "text",
    [
        "onnxruntime/resnet50/latency/fp32/b1/t1/cpu",
        "jax/mlp/training/fp32/b64/t1/cpu",
        "torch/gemm-768x128x768/operators/fp32/b1/t1/cpu",
        "onnxruntime@1.30.0+spinning=off/mlp/throughput/int8/b100/t1/cpu",
    ],
)
def test_an_id_is_read_as_it_was_printed(text: str) -> None:
    found = parse(text)
    assert found.id == text
    assert f"{found.arm.id}/{found.case.id}" == text
    assert [block.case for block in found.plan.blocks] == [found.case]
    assert found.plan.answering == (found.arm,)


def test_what_is_left_out_is_the_plain_case() -> None:
    found = parse("torch/mlp")
    assert found.case.scenario == "latency"
    assert (found.case.precision, found.case.batch, found.case.device) == ("fp32", 1, "cpu")
    assert 1 <= found.case.threads <= CORES
    assert parse(" torch/mlp/throughput ").case.batch == parse("torch/mlp/throughput").case.batch


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "names no result"),
        ("onnxruntime", "names no result"),
        ("resnet50/latency/fp32", "names no result"),
        ("onnxruntim/resnet50", "Did you mean 'onnxruntime'"),
        ("onnxruntime/mlp/latency/fp32/8", "Write b8."),
        ("onnxruntime/mlp/latency/fp32/b8", "latency is measured at batch 1 alone."),
        ("onnxruntime/mlp/cold-start", "Explain onnxruntime/mlp/latency instead"),
        ("onnxruntime/mlp/latency/fp32/b1/t1/cuda", "on the CPU and in one process only"),
        ("torch/mlp/training/fp32/b8/t1/cpu/p2", "on the CPU and in one process only"),
        ("jax/decoder/decode/fp32/b1/t1/cpu/d128", "Explain jax/decoder/latency instead"),
        ("jax/gemm-768x128x768/latency", "is a single operator"),
        ("jax/vit/operators", "Explain jax/vit/latency instead"),
        ("torch@cu13/mlp", "on the CPU and in one process only"),
    ],
)
def test_what_is_not_there_says_what_is(text: str, says: str) -> None:
    with pytest.raises(LevelfieldError) as caught:
        parse(text)
    assert says in str(caught.value)
    assert caught.value.fix
    assert caught.value.exit_code == 2


def request(arm: Arm, model: str = "canary") -> ExplainRequest:
    made = canaries.plan("latency", arms=(arm,), model=model)
    case = Case(model, "latency", "fp32", 1, 1)
    return ExplainRequest(id=f"{arm.id}/{case.id}", arm=arm, case=case, plan=made)


def test_a_backend_without_a_profiler_is_loaded_and_then_refused() -> None:
    asked = request(Arm("canary", "canary"))
    with pytest.raises(LevelfieldError) as caught:
        explain(asked, HostLauncher(), SilentListener())
    assert caught.value.message == (f"{asked.id} could not be profiled: canary has no profiler that is read here.")
    assert not canaries.workers()


HOSTILE = "\x1b]0;owned\x07[bold]Conv[/] =HYPERLINK(1)\n\x9b31m"


def printed(*operators: Operator, by_layer: bool = False, top: int = 15, width: int = 160) -> str:
    return plain.printed(partial(show, explained(*operators), by_layer=by_layer, top=top), width)


@pytest.mark.parametrize("by_layer", [False, True])
def test_names_from_a_trace_are_data(by_layer: bool) -> None:
    text = printed(Operator(HOSTILE, HOSTILE, 4, 1.0), by_layer=by_layer)
    assert not [letter for letter in text if letter != "\n" and (ord(letter) < 32 or 127 <= ord(letter) < 160)]
    assert "[bold]Conv[/]" in text


def test_csv_has_a_row_for_each_and_no_formula() -> None:
    stream = io.StringIO()
    write_csv(stream, COLUMNS, as_rows([explained(Operator("=1+1", "@x", 4, 5.0)), explained()], by_layer=True))
    first, *rest = csv.DictReader(io.StringIO(stream.getvalue()))
    assert (first["operator"], first["layer"], first["result"]) == ("'=1+1", "'@x", ID)
    assert [row["layer"] for row in rest] == ["stem", "head", "relu"]


def test_kinds_are_summed() -> None:
    conv, relu = rows(profiled(), by_layer=False)
    assert (conv.operator, conv.layer, conv.calls) == ("Conv", "", 2)
    assert [conv.self_us, conv.share, conv.cumulative] == pytest.approx([9000, 0.9, 0.9])
    assert (relu.operator, relu.calls) == ("Relu", 2)
    assert relu.cumulative == pytest.approx(1.0)
