"""What people see while a run goes on."""

import io
import os

import pytest
from rich.console import Console

from levelfield.record.schema import Warning_
from levelfield.report.progress import Log, Remaining, Terminal, opened, steps
from levelfield.schedule.listener import ProgressListener


def report_progress(listener: ProgressListener) -> None:
    listener.say("making the weights of [bert]")
    listener.generation("mlp/latency/fp32/b1/t2/cpu", 0, 5)
    listener.progress("round 1 of 3", {"torch": 2e6, "onnxruntime#2": 1.5e6, "canary": 9e6})
    listener.warn(Warning_("budget-spent", "The [bold] budget was spent.", "Give a larger one."))
    listener.done(0.25, 90.0)
    listener.generation("mlp/latency/fp32/b1/t2/cpu", 7, 5)
    listener.done(1.0, None)


def drawn() -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, color_system=None)
    with Terminal(console) as listener:
        report_progress(listener)
    return out.getvalue()


def test_a_terminal_is_drawn_on() -> None:
    text = drawn()
    for words in (
        "mlp/latency/fp32/b1/t2/cpu · generation 1 of 5",
        "mlp/latency/fp32/b1/t2/cpu · generation 8\n",
        "round 1 of 3",
        "onnxruntime#2",
        "25%",
        "about 90 s left",
        "time left not known yet",
        "The [bold] budget was spent. Give a larger one.",
    ):
        assert words in text
    assert text.index("onnxruntime#2") < text.index("torch"), "the quickest first"
    assert "canary" not in text


def test_an_estimate_that_is_over_is_no_end() -> None:
    assert Remaining(0.4, 5.0).text(2.0) == "about 3 s left"
    assert Remaining(0.4, 5.0).text(20.0) == "longer than expected"
    assert Remaining(1.0, 0.0).text(20.0) == "about 0 s left"


def test_where_there_is_no_terminal_it_is_a_log_even_with_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    out = io.StringIO()
    console = Console(file=out)
    assert console.is_terminal, "rich takes it for one"
    assert isinstance(opened(console), Log)
    steps(console)("fetching 3 wheels")
    assert out.getvalue().startswith("[")
    assert "fetching 3 wheels" in out.getvalue()
    assert "\x1b" not in out.getvalue()


def test_where_there_is_a_terminal_it_is_drawn_on() -> None:
    shown, own = os.openpty()
    with os.fdopen(own, "w") as file:
        console = Console(file=file, force_terminal=True)
        assert isinstance(opened(console), Terminal)
        steps(console)("fetching 3 wheels")
    assert b"fetching 3 wheels" in os.read(shown, 1000)
    os.close(shown)


def test_the_terminal_is_given_back_after_an_error() -> None:
    out = io.StringIO()
    with pytest.raises(ZeroDivisionError), Terminal(Console(file=out, force_terminal=True)) as listener:
        listener.done(1 / 0, None)
    assert out.getvalue().rstrip().endswith("\x1b[?25h"), "the cursor is shown again"


CASE, OTHER = "bert/latency/fp32/b1", "mlp/latency/fp32/b1"


class Watched:
    """A log, what it printed, and its clock."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self._out = io.StringIO()
        console = Console(file=self._out, width=40)
        self.listener = Log(console, now=lambda: self.now_s, local_time=lambda: "12:03:07")

    def lines(self) -> list[str]:
        return self._out.getvalue().splitlines()


def test_a_line_says_when_how_much_and_how_long() -> None:
    seen = Watched()
    seen.listener.generation(CASE, 0, 5)
    seen.listener.done(0.38, 450.0)
    seen.now_s += 15
    seen.listener.generation(CASE, 2, 5)
    seen.now_s += 235
    seen.listener.progress("round 7 of 24", {"torch": 2e6})
    assert seen.lines() == [
        f"[12:03:07 +0 s] 0 % · time left not known yet · {CASE} · generation 1 of 5",
        f"[12:03:07 +15 s] 38 % · about 7 min left · {CASE} · generation 3 of 5",
        f"[12:03:07 +4 min 10 s] 38 % · about 3 min left · {CASE} · generation 3 of 5 · round 7 of 24",
    ]


def test_a_case_has_a_line_every_ten_seconds_and_a_step_or_another_case_has_one_at_once() -> None:
    seen = Watched()
    seen.listener.generation(CASE, 0, 5)
    for number in range(1000):
        seen.now_s += 0.1
        seen.listener.progress(f"round {number}", {})
    assert 10 <= len(seen.lines()) <= 11
    before = len(seen.lines())
    for index in range(9):
        seen.listener.generation(CASE, index, 5)
    assert len(seen.lines()) == before
    seen.listener.generation(OTHER, 7, 5)
    seen.listener.say("making the weights of [bert]")
    seen.listener.warn(Warning_("budget-spent", "The [bold] budget was spent.", "Give a larger one."))
    ends = [line.split("] ", 1)[1] for line in seen.lines()[before:]]
    assert ends == [
        f"0 % · time left not known yet · {OTHER} · generation 8",
        "making the weights of [bert]",
        "Note: The [bold] budget was spent. Give a larger one.",
    ]
