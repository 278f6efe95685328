import json
import statistics

import pytest

from levelfield.errors import LevelfieldError
from levelfield.imported import hyperfine
from levelfield.record.schema import Absent
from tests.imported.recorded import content

NAME = "hyperfine-1.15.0.json"


def test_every_run_of_a_command_is_a_launch() -> None:
    found = hyperfine.parse(content(NAME))
    assert isinstance(found.version, Absent)
    assert isinstance(found.started, Absent)
    assert [result.name for result in found.results] == ["true", "sleep 0.01"]
    for result, said in zip(found.results, json.loads(content(NAME))["results"], strict=True):
        assert [len(launch) for launch in result.launches] == [1] * 10
        median_ns = statistics.median(launch[0].total_ns for launch in result.launches)
        assert median_ns == pytest.approx(1e9 * said["median"], rel=1e-6)


def test_a_command_that_failed_has_failed() -> None:
    file = {"results": [{"command": "false", "times": [0.1, 0.2], "exit_codes": [0, 1]}]}
    assert hyperfine.parse(json.dumps(file).encode()).results[0].failure == "it ended with another exit code than 0"


def test_other_forms_are_one_sentence() -> None:
    with pytest.raises(LevelfieldError, match="The output of hyperfine cannot be read"):
        hyperfine.parse(b'{"results": [{"exit_codes": []}]}')
