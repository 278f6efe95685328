"""What people see while a run goes on."""

import io

import pytest
from rich.console import Console

from suite.record.schema import Warning_
from suite.report import progress
from suite.report.progress import Terminal
from suite.schedule.listener import ProgressListener, SilentListener


def report_progress(listener: ProgressListener) -> None:
    listener.say("making the weights of [bert]")
    listener.generation("mlp/latency/fp32/b1/t2/cpu", 0, 5)
    listener.progress("round 1 of 3", {"torch": 2e6, "onnxruntime#2": 1.5e6, "canary": 9e6})
    listener.warn(Warning_("budget-spent", "The [bold] budget was spent.", "Give a larger one."))
    listener.done(0.25, 90.0)
    listener.generation("mlp/latency/fp32/b1/t2/cpu", 7, 5)
    listener.done(1.0, None)


def drawn(*, terminal: bool) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=100, color_system=None)
    with Terminal(console) as listener:
        report_progress(listener)
    return out.getvalue()


def test_a_terminal_is_drawn_on() -> None:
    text = drawn(terminal=True)
    for words in (
        "mlp/latency/fp32/b1/t2/cpu · generation 1 of 5",
        "mlp/latency/fp32/b1/t2/cpu · generation 8\n",
        "round 1 of 3",
        "onnxruntime#2",
        "25%",
        "about 1:30 left",
        "time left not known yet",
        "The [bold] budget was spent. Give a larger one.",
    ):
        assert words in text
    assert text.index("onnxruntime#2") < text.index("torch"), "the quickest first"
    assert "canary" not in text


def test_without_a_terminal_it_is_reported_in_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LOG_EVERY_S", -1.0)
    lines = drawn(terminal=False).splitlines()
    assert "making the weights of [bert]" in lines
    assert "mlp/latency/fp32/b1/t2/cpu · generation 1 of 5" in lines
    assert "  round 1 of 3" in lines
    assert not any("\x1b" in line for line in lines)


def test_a_log_is_not_flooded() -> None:
    out = io.StringIO()
    with Terminal(Console(file=out, force_terminal=False)) as listener:
        for number in range(1000):
            listener.progress(f"round {number}", {})
    assert len(out.getvalue().splitlines()) <= 2


def test_the_terminal_is_given_back_after_an_error() -> None:
    out = io.StringIO()
    with pytest.raises(ZeroDivisionError), Terminal(Console(file=out, force_terminal=True)) as listener:
        listener.done(1 / 0, None)
    assert out.getvalue().rstrip().endswith("\x1b[?25h"), "the cursor is shown again"


def test_nobody_watches() -> None:
    report_progress(SilentListener())
