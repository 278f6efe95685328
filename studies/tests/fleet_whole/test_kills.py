"""What is read off records and journals of fleets; that nodes and heads can be killed is in `tests.fleet.run`."""

import msgspec
import psutil
import pytest

from studies.fleet_whole import kills, processes
from suite.errors import LevelfieldError
from tests.fleet.run.fleets import record
from tests.records_builder import first_generation


def test_answers_are_counted_by_question() -> None:
    run = record()
    assert kills.answers([run, run]) == 1
    launch = next(each for each in run.blocks[0].generations[0].launches if each.parity is not None)
    assert launch.parity is not None
    wrong = msgspec.structs.replace(launch, parity=msgspec.structs.replace(launch.parity, output_sha256="0" * 64))
    assert kills.answers([run, first_generation(run, launches=(wrong,))]) == 2
    assert kills.answers([]) == 0


def test_a_run_that_was_resumed_or_cut_is_not_whole() -> None:
    run = record()
    assert kills.is_whole(run)
    assert not kills.is_whole(msgspec.structs.replace(run, resumed=("2026-11-25T02:00:00Z",)))
    assert not kills.is_whole(first_generation(run, complete=False))


def test_what_was_said_of_nodes_is_the_line_after_their_count() -> None:
    said = "node-01: done, x.\nNodes with all runs: 3 of 3, in there.\nOf 3 nodes: 3 not decided.\nmore\n"
    assert kills.answer_of(said) == "Of 3 nodes: 3 not decided."
    assert kills.answer_of("node-01: begins.\n") == ""


def test_waiting_ends_with_a_sentence() -> None:
    assert processes.wait_for(lambda: True, 1.0, "It did not happen") < 1.0
    with pytest.raises(LevelfieldError, match="It did not happen within 0 seconds"):
        processes.wait_for(lambda: False, 0.0, "It did not happen")


def test_processes_that_measure_are_told_from_others() -> None:
    own = psutil.Process()
    assert not processes.measures(own)
    assert processes.still_there([own]) == [own]
    assert processes.of_cluster() == ([], [])
