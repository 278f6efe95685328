"""What the record of a failed launch says."""

import pytest

from levelfield.launchers.worker import WorkerError
from levelfield.record.schema import Arm, Case, Launch
from levelfield.schedule.outcomes import Outcome, fail


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"graph": "off"},
            "rejected. It loads with other settings: measure onnxruntime@1.30.0+graph=off+spinning=off.",
        ),
        ({"graph": "nonsense"}, "rejected."),
        ({"rm -rf": "/"}, "rejected."),
        ({}, "rejected."),
    ],
)
def test_an_arm_that_loads_what_this_one_does_not_is_named(settings: dict[str, str], says: str) -> None:
    arm = Arm("onnxruntime", "onnxruntime", version="1.30.0", settings={"spinning": "off"}, ordinal=2)
    outcome = Outcome(arm, Case("mlp", "latency", "fp32", 1, 2), Launch(arm=arm.id, started="2026-11-28T03:00:00Z"))
    fail(outcome, "load", WorkerError("error", "rejected.", settings=settings))
    assert outcome.launch.failure is not None
    assert outcome.launch.failure.message == says


def test_a_failure_in_a_record_names_no_folder_of_the_users() -> None:
    outcome = Outcome(Arm("torch", "torch"), Case("mlp", "latency", "fp32", 1, 2), Launch(arm="torch", started=""))
    fail(outcome, "load", WorkerError("error", "/home/jane/x.so: broken", 'File "/home/jane/x.py"'))
    assert "jane" not in str(outcome.launch.failure)
