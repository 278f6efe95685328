"""Answers of other tools' programs; `test_command.py` runs the tools themselves."""

import pytest

from studies.harness.inside import optimum_benchmark, pyperf_series
from studies.harness.inside.optimum_benchmark import ANSWER
from studies.harness.workspace import OPTIMUM_BENCHMARK, PYPERF, reading_of
from suite.errors import LevelfieldError
from suite.images import catalogue


def test_the_last_answer_counts() -> None:
    text = '{"median_ns": 5.0, "calls": 3, "supervisor_share": 0.5, "wall_s": 1.0}'
    found = reading_of(f"a log\n{ANSWER}{text.replace('5.0', '4.0')}\n{ANSWER}{text}\nits end\n", "a tool")
    assert (found.median_ns, found.calls, found.supervisor_share) == (5.0, 3, 0.5)


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("", "a tool gave no answer"),
        (f"{ANSWER}{{}}", "a tool gave no answer"),
        (f'{ANSWER}{{"median_ns": 0, "calls": 3, "supervisor_share": null, "wall_s": 1}}', "takes 0.0 ns"),
        (f'{ANSWER}{{"median_ns": 9, "calls": 0, "supervisor_share": null, "wall_s": 1}}', "of 0 calls"),
    ],
)
def test_what_is_no_answer_is_an_error(output: str, says: str) -> None:
    with pytest.raises(LevelfieldError, match=says):
        reading_of(output, "a tool")


def test_both_programs_answer_in_one_way() -> None:
    assert pyperf_series.ANSWER == ANSWER
    assert optimum_benchmark.Answer.__struct_fields__ == pyperf_series.Answer.__struct_fields__


@pytest.mark.parametrize(
    ("peer", "image", "framework"), [(PYPERF, "onnxruntime", "onnxruntime"), (OPTIMUM_BENCHMARK, "torch", "torch")]
)
def test_peers_compute_with_the_framework_of_its_own_image(peer: str, image: str, framework: str) -> None:
    assert catalogue.lock(peer).versions[framework] == catalogue.lock(image).versions[framework]
