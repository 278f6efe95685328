"""Figures of docs/method.md: what averaging gradients tensor by tensor costs in JAX."""

import re

from tests.figures.checking import Figure
from tests.figures.records import TRIALS


def _ratio() -> list[object]:
    from studies.gradient_mean.command import Record, markdown
    from studies.record import read

    text = markdown(read(TRIALS / "gradient-mean-2026-11-25.json", Record))
    found = re.search(r"takes ([\d.]+) times as long \(([\d.]+)–([\d.]+)", text)
    assert found is not None
    return list(found.groups())


FIGURES = [Figure("docs/method.md", "of the MLP takes {} times as long ({}–{}; [record]", _ratio)]
