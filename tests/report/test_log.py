"""What a log shows of a run, with a clock that the test moves."""

import io

from rich.console import Console

from levelfield.record.schema import Warning_
from levelfield.report.log import Log

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
