"""Every output names the relation of an arm to the best by the same words."""

import msgspec

from levelfield.analysis import analyse
from levelfield.analysis.types import Estimate
from levelfield.report import sentences, separation
from levelfield.statistics.verdicts import Verdict
from tests.records_builder import make_run


def test_an_arm_that_is_not_shown_to_be_slower_before_one_that_is_has_a_sentence() -> None:
    (block,) = analyse(make_run(models=("mlp",), scenarios=("latency",))).timed
    assert separation.crossed(block) is None
    assert sentences.crossed(block) == ""
    second, third = block.rows[1:3]
    wide = msgspec.structs.replace(second, rank=1, verdict=Verdict.INCONCLUSIVE, ratio=Estimate(1.25, 0.98, 1.6))
    slower = msgspec.structs.replace(third, rank=2, verdict=Verdict.SLOWER, ratio=Estimate(1.11, 1.05, 1.18))
    odd = msgspec.structs.replace(block, rows=(block.rows[0], wide, slower))
    assert separation.crossed(odd) == (wide, slower)
    assert sentences.crossed(odd) == (
        f"{wide.arm} (+25\u00a0%) is not shown to be slower, {slower.arm} (+11\u00a0%) is: the launches of {wide.arm} "
        "differ more, which widens its interval."
    )
