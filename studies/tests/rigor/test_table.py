"""A stream laid out as arrays."""

import msgspec
import numpy as np
import pytest

from studies.rigor.table import lay_out
from studies.tests.rigor.streams import Machine, stream
from suite.errors import LevelfieldError


def test_windows_are_laid_out_by_their_arm_not_their_order() -> None:
    one = stream(Machine(), generations=3)
    seen = lay_out(one.generations)
    assert seen.median_ns.shape == (3, 4, 4)
    for g, generation in enumerate(one.generations):
        for r, row in enumerate(generation.rounds):
            for pair in row.pairs:
                for window in pair.windows:
                    assert seen.median_ns[g, r, window.arm] == window.median_ns
                    assert seen.start_s[g, r, window.arm] == pytest.approx(window.start_ns / 1e9)
    assert seen.launch_s == pytest.approx(np.full(3, 0.5))


def test_a_damaged_stream_is_refused() -> None:
    whole = stream(Machine(), generations=2).generations
    with pytest.raises(LevelfieldError, match="no complete generation"):
        lay_out([])
    shorter = msgspec.structs.replace(whole[1], rounds=whole[1].rounds[:-1])
    with pytest.raises(LevelfieldError, match="different shape"):
        lay_out([whole[0], shorter])
    twice = msgspec.structs.replace(whole[1].rounds[0].pairs[0], lane=1, windows=whole[1].rounds[0].pairs[1].windows)
    rounds = (msgspec.structs.replace(whole[1].rounds[0], pairs=(twice, twice)), *whole[1].rounds[1:])
    with pytest.raises(LevelfieldError, match="missing"):
        lay_out([whole[0], msgspec.structs.replace(whole[1], rounds=rounds)])
