"""Insights of a record of an earlier version."""

import math

import msgspec

from levelfield.record.schema import Absent
from tests.analysis.changed import derived
from tests.records_builder import make_run


def test_a_record_of_an_earlier_version_has_no_insights_it_lacks_the_evidence_for() -> None:
    run = make_run(models=("mlp",))
    old = msgspec.structs.replace(
        run,
        work=(),
        roofline=Absent("it was not measured"),
        settings=msgspec.structs.replace(run.settings, worker_memory_bytes=None),
    )
    found = derived(old)
    assert (found.ceilings, found.resources) == ((), ())
    assert found.payback
    assert math.isfinite(found.saturation[0].arms[0].gain)
