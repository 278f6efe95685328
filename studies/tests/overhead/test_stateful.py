"""The file that `benchmark_app` is given: `test_command.py` writes it for real, in OpenVINO's image."""

from pathlib import Path

import pytest

from studies.overhead.stateful import main
from suite.worker.messages import Task


@pytest.mark.parametrize(
    "task",
    [
        Task("openvino", "mlp", 1, 1, scenario="decode", depth=4),
        Task("openvino", "decoder", 1, 1, scenario="latency"),
    ],
)
def test_what_reads_no_cache_is_not_written(task: Task, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no step that reads a cache"):
        main(task, tmp_path, 2)
    assert not list(tmp_path.iterdir())
