"""The trial of gathering, on a few small records."""

import subprocess
import sys
from pathlib import Path

import msgspec

from studies import fleet_gather
from suite.fleet.gather import gather
from suite.record import files
from tests.commands import ROOT
from tests.fleet.samples import place, small


def test_every_copy_is_a_record_of_its_own(tmp_path: Path) -> None:
    source = place(small("source"), tmp_path / "source")
    fleet_gather.spread((source / files.NAME).read_bytes(), tmp_path / "fleet", 30, 2)
    found = gather(tmp_path / "fleet")
    assert found.records == 60
    assert found.notes == ()
    costs = {answer.cost for runs in found.nodes.values() for run in runs for answer in run.answers.values()}
    assert len(costs) > fleet_gather.FACTORS / 2


def test_the_record_tells_what_was_measured(tmp_path: Path) -> None:
    place(small("source"), tmp_path / "source")
    done = subprocess.run(
        [
            sys.executable, "-m", "studies.fleet_gather", tmp_path / "source", "--nodes", "12",
            "--out", tmp_path / "out.json",
        ],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = msgspec.json.decode((tmp_path / "out.json").read_bytes(), type=fleet_gather.Record)
    assert (found.nodes, found.runs_each, found.source) == (12, 1, "source")
    assert 0 < found.gather_s < 60
    assert found.peak_bytes > 1e7
    assert found.page_bytes > 1000
