"""Frameworks that are known to answer wrongly: who is warned of, in the plan and beside the arm."""

import msgspec
import pytest

from levelfield import plan
from levelfield.analysis import analyse
from levelfield.compatibility import frameworks, gate
from levelfield.plan import Selection
from levelfield.record import warnings as notices
from levelfield.report import html
from tests.records_builder import make_run


@pytest.mark.parametrize(
    ("versions", "backend", "issues"),
    [
        ({"jax": "0.10.2"}, "jax", ["jax-ml/jax 39103"]),
        ({"jax": "0.10.1"}, "jax", []),
        ({"jax": "0.12.0.1"}, None, []),
        ({"tensorflow-cpu": "2.21.0"}, "tensorflow-xla", ["tensorflow/tensorflow 118178"]),
        ({"tensorflow-cpu": "2.21.0"}, "tensorflow", []),
        ({"tensorflow-cpu": "2.21.0"}, None, ["tensorflow/tensorflow 118178"]),
        ({"onnxruntime": "1.25.9"}, None, ["microsoft/onnxruntime 26708"]),
        ({"onnxruntime": "1.26.0"}, None, []),
        ({"onnxruntime": "from a fork"}, None, []),
        ({}, None, []),
    ],
)
def test_which_versions_are_known(versions: dict[str, str], backend: str | None, issues: list[str]) -> None:
    found = frameworks.known_wrong(gate.read(), versions, backend)
    assert [each.row.issue for each in found] == issues


def test_a_run_warns_before_it_begins_of_the_arm() -> None:
    chosen = Selection("smoke", models=("mlp",), backends=("jax", "jax@0.10.2", "onnxruntime"))
    (warning,) = [each for each in plan.make(chosen, available=[0, 1]).warnings if each.code == notices.KNOWN_WRONG]
    assert warning.about == "jax@0.10.2"
    assert warning.message.startswith("jax 0.10.2 is known to answer wrongly on CPUs: ")
    assert "jax-ml/jax 39103" in warning.message


def test_the_report_says_it_beside_the_arm_too() -> None:
    run = make_run(models=("mlp",), backends=("jax", "onnxruntime"), scenarios=("latency",))
    warning = notices.known_wrong("jax", "jax 0.10.2 is known to answer wrongly.", "Use another.")
    page = html.render(run, analyse(run))
    assert "known to answer wrongly" not in page, "records made before stay as they are"
    run = msgspec.structs.replace(run, warnings=(*run.warnings, warning))
    page = html.render(run, analyse(run))
    assert page.count("jax 0.10.2 is known to answer wrongly.") >= 2
    assert "jax: jax 0.10.2 is known to answer wrongly." in page
