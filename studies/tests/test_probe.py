"""The study of the machine's probe, for real and shortly."""

import shutil

import numpy as np
import pytest

from studies.probe import markdown, measure


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
def test_both_probes_are_measured_in_turns() -> None:
    found = measure(0.3, 0.0)
    assert len({len(values) for values in found.values()}) == 1
    assert all(values.min() > 0 for values in found.values())
    assert markdown(found).count("\n") > 6


def test_the_table_says_how_often_both_agree() -> None:
    low, high = 1_000_000, 1_500_000
    one, other = np.array([low, low, high, high]), np.array([low, high, high, high])
    said = markdown({"arithmetic": one, "multiply-adds in C": other})
    assert "4 probes of each; NumPy's arithmetic and C agree on the state in 75%." in said
