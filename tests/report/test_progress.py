"""What people see while a run goes on."""

import io
import os

import pytest
from rich.console import Console

from levelfield.record.schema import Warning_
from levelfield.report.log import Log
from levelfield.report.progress import Terminal, opened, steps
from levelfield.schedule.listener import ProgressListener, SilentListener


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
        "about 1:30 left",
        "time left not known yet",
        "The [bold] budget was spent. Give a larger one.",
    ):
        assert words in text
    assert text.index("onnxruntime#2") < text.index("torch"), "the quickest first"
    assert "canary" not in text


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


def test_nobody_watches() -> None:
    report_progress(SilentListener())
