"""States of the machine on the page and in the terminal."""

import re

import msgspec
import pytest

from levelfield.analysis import analyse
from levelfield.record.schema import Absent, MachineProbe, Run
from levelfield.record.states import State
from levelfield.report import answers, html, states
from tests.analysis.changed import exact
from tests.analysis.probed import BUSY, CALM, probed
from tests.report.plain import plain
from tests.report.test_terminal import shown

SLOWED = {"jax": 1.65, "openvino": 1.11}
BOTH = (CALM,) * 90 + (BUSY,) * 10
HARDLY_CALM = (CALM,) * 20 + (BUSY,) * 80


def attempts(generation: int, number: int, _arm: str) -> tuple[State, ...]:
    return ("contended", "calm") if (generation + number) % 2 else ("calm",)


def made() -> Run:
    return exact(backends=("openvino", "jax"), scenarios=("latency",), rounds=3)


def all_in(state: State, looked: tuple[MachineProbe, ...], kept: MachineProbe | None = None) -> Run:
    return probed(made(), lambda *_: (state,), looked=looked, kept=kept)


@pytest.fixture(scope="module")
def run() -> Run:
    return probed(made(), attempts, SLOWED, looked=BOTH)


def not_probed(reason: str) -> Run:
    """Return a run in which each probe failed."""
    found = msgspec.to_builtins(made())
    for generation in found["blocks"][0]["generations"]:
        for round_ in generation["rounds"]:
            for turn in round_["turns"]:
                turn |= {name: msgspec.to_builtins(Absent(reason)) for name in ("probed_before", "probed_after")}
    return msgspec.convert(found, Run)


def said(found: Run) -> tuple[str, list[str]]:
    """Return the sentence of a run, and those of its cases."""
    analysis = analyse(found)
    cases = [states.of_case(block, analysis) for block in analysis.timed]
    return plain(states.sentence(analysis)), cases


SENTENCE = (
    "Only calm windows count, while no neighbour was busy (90 % of 100 probes were calm); when one is, jax takes up to "
    "1.65× as long (ResNet-50, latency), openvino 1.11×."
)


def test_two_states_and_what_contention_does(run: Run) -> None:
    assert said(run) == (SENTENCE, [""])


def test_one_state_is_never_called_calm() -> None:
    sentence = (
        "Measured in the one state of the machine that 90 probes saw: neither whether a neighbour was busy nor what "
        "contention would do is known."
    )
    assert said(all_in("calm", (CALM,) * 90)) == (sentence, [""])


def test_contended_throughout() -> None:
    sentence = (
        "Contended throughout: only 20 % of 100 probes were calm, so windows of every state count; what the "
        "machine does when calm is not known."
    )
    run = all_in("contended", HARDLY_CALM)
    assert said(run) == (sentence, [""])
    assert answers.title(analyse(run)).endswith(", on a contended machine")


def calm_in_few_launches() -> Run:
    return probed(made(), lambda generation, *_: ("calm",) if generation < 2 else ("unsettled",), looked=BOTH)


@pytest.mark.parametrize("found", [all_in("unsettled", BOTH), calm_in_few_launches()])
def test_windows_that_all_count_are_not_said_to_be_left_out(found: Run) -> None:
    assert said(found)[1] == [""]
    assert answers.title(analyse(found)).endswith(", on a contended machine")
    against = plain(" ".join(answers.reservations(found, analyse(found))))
    assert "too few were calm both before and after them" in against
    assert "left out" not in against


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (made(), "an earlier version did not probe it"),
        (not_probed("the arms compute on a GPU"), "the arms compute on a GPU"),
        (
            probed(exact(backends=("jax",), scenarios=("latency",), rounds=1), attempts, looked=()),
            "its probes are too few",
        ),
    ],
)
def test_no_state_is_known(found: Run, reason: str) -> None:
    assert said(found) == (f"The state of the machine during this run is not known: {reason}.", [""])


@pytest.mark.parametrize(
    ("first", "words"),
    [
        (all_in("calm", (CALM,) * 90), "Only one state of the machine was seen until then"),
        (all_in("contended", HARDLY_CALM[10:60]), "Contended throughout: too few probes until then"),
        (all_in("unsettled", BOTH), "No window was calm both before and after it"),
        (made(), "The machine was not probed here."),
    ],
)
def test_a_case_says_where_it_differs_from_the_run(first: Run, words: str) -> None:
    whole = probed(made(), attempts, SLOWED, looked=BOTH * 2)
    case = msgspec.structs.replace(first.blocks[0].case, batch=8)
    other = msgspec.structs.replace(first.blocks[0], case=case)
    sentence, cases = said(msgspec.structs.replace(whole, blocks=(other, *whole.blocks)))
    assert sentence.startswith(
        "Only calm windows count, while no neighbour was busy (90 % of 200 probes were calm), except where a case says"
    )
    assert cases[0].startswith(words)
    assert cases[1] == ""


def test_the_page_says_it_once_where_it_is_asked_whether_to_trust_it_and_shows_both_ratios(run: Run) -> None:
    page = plain(html.render(run, analyse(run))).replace("&#8288;", "")
    assert page.count(SENTENCE) == 1
    assert page.index("Can it be trusted?") < page.index(SENTENCE) < page.index("Launches of each arm")
    assert "When a neighbour is busy" in page
    row = next(each for each in re.findall(r"<tr class=\"is-ranked\".*?</tr>", page, re.DOTALL) if "jax" in each)
    assert 'data-not-calm="0:1:0 1:0:0 1:2:0' in row


@pytest.mark.parametrize("width", [80, 100, 160])
def test_no_figure_is_cut_off_beside_the_column_of_the_busy_machine(run: Run, width: int) -> None:
    text = shown(run, width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
