"""Runs of workers that keep or break a rule of windows, and their turns."""

from pathlib import Path
from typing import Any

import pytest

from levelfield.launchers.worker import Worker
from levelfield.record.schema import Arm, Launch, Run, Turn
from levelfield.worker.messages import Measure
from tests import canaries, hostile, records_builder

HONEST = canaries.ARMS[1]


def measured(does: str, reports: Path) -> tuple[Arm, Run]:
    """Measure an honest canary beside one that does something wrong."""
    wrong = hostile.arm(does)
    return wrong, canaries.Harness(canaries.plan("latency", arms=(wrong, HONEST)), reports).measure()


def requests_of(monkeypatch: pytest.MonkeyPatch) -> list[Measure]:
    """Return a list that every request for a window of rounds, which warms up again, is put into from now on."""
    asked: list[Measure] = []
    ask_asleep = Worker.ask_asleep

    def keep(self: Worker, request: Any, *rest: Any) -> Any:
        if request.rewarm_calls:
            asked.append(request)
        return ask_asleep(self, request, *rest)

    monkeypatch.setattr(Worker, "ask_asleep", keep)
    return asked


def turns_of(run: Run) -> list[list[Turn]]:
    return [
        [turn for round_ in generation.rounds for turn in round_.turns]
        for block in run.blocks
        for generation in block.generations
    ]


def launches_of(run: Run, arm: Arm) -> list[Launch]:
    return [launch for launch in records_builder.launches_of(*run.blocks) if launch.arm == arm.id]
