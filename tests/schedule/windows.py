"""Runs of workers that keep or break a rule of windows, and their turns."""

from pathlib import Path

from levelfield.record.schema import Arm, Launch, Run, Turn
from tests import canaries, hostile

HONEST = canaries.ARMS[1]


def measured(does: str, reports: Path) -> tuple[Arm, Run]:
    """Measure an honest canary beside one that does something wrong."""
    wrong = hostile.arm(does)
    return wrong, canaries.Harness(canaries.plan("latency", arms=(wrong, HONEST)), reports).measure()


def turns_of(run: Run) -> list[list[Turn]]:
    return [
        [turn for round_ in generation.rounds for turn in round_.turns]
        for block in run.blocks
        for generation in block.generations
    ]


def launches_of(run: Run, arm: Arm) -> list[Launch]:
    return [
        launch
        for block in run.blocks
        for generation in block.generations
        for launch in generation.launches
        if launch.arm == arm.id
    ]
