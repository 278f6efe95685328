"""States of the machine on the page and in the terminal."""

import re

import pytest

from suite.analysis import analyse
from suite.analysis.states import State
from suite.record.schema import Run
from suite.report import html
from tests.analysis.changed import exact
from tests.analysis.probed import probed
from tests.report.plain import plain
from tests.report.test_terminal import shown


def attempts(generation: int, number: int, _arm: str) -> tuple[State, ...]:
    return ("contended", "calm") if (generation + number) % 2 else ("calm",)


@pytest.fixture(scope="module")
def run() -> Run:
    made = exact(backends=("openvino", "jax"), scenarios=("latency",), rounds=3)
    return probed(made, attempts, {"jax": 1.65, "openvino": 1.1})


SENTENCE = "Measured while the machine was calm: 30 of 44 windows, 14 of them taken again."


def test_the_page_says_the_state_and_shows_both_ratios(run: Run) -> None:
    page = plain(html.render(run, analyse(run)))
    assert SENTENCE in page
    assert "When a neighbour is busy" in page
    row = next(each for each in re.findall(r"<tr class=\"is-ranked\".*?</tr>", page, re.DOTALL) if "jax" in each)
    assert 'data-not-calm="0:1:0 1:0:0 1:2:0' in row


def test_the_terminal_says_so_too(run: Run) -> None:
    text = plain(shown(run, 140))
    assert SENTENCE in text
    assert "neighbour" in text


@pytest.mark.parametrize("width", [80, 100, 160])
def test_no_figure_is_cut_off_beside_the_column_of_the_busy_machine(run: Run, width: int) -> None:
    text = shown(run, width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width


def test_a_page_without_probes_has_no_such_column() -> None:
    made = exact(backends=("openvino", "jax"), scenarios=("latency",))
    assert "When a neighbour is busy" not in html.render(made, analyse(made))
