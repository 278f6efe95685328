"""What peak memory leaves of a worker's limit."""

import msgspec

from tests.analysis.insights.derived import derived
from tests.records_builder import make_run


def test_headroom_is_what_the_peak_leaves() -> None:
    run = make_run(models=("bert",), scenarios=("memory",), noise_scale=0.0)
    (found,) = derived(run).headroom
    assert (found.least_arm, found.most_arm) == ("onnxruntime", "tensorflow-xla")
    assert found.most_bytes == int(1.2 * 2**30)
    assert found.limit_bytes == 12 * 2**30
    assert found.machine_bytes == 25_769_803_776
    assert found.weight_bytes == 4 * (12 * (12 * 768**2 + 9 * 768) + 130 * 768)
    unknown = msgspec.structs.replace(
        run, machine={}, settings=msgspec.structs.replace(run.settings, worker_memory_bytes=None)
    )
    (found,) = derived(unknown).headroom
    assert found.limit_bytes is None
    assert found.machine_bytes is None
