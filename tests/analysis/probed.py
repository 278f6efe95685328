"""Records whose windows were probed, in states that a test chooses."""

from collections.abc import Callable

import msgspec

from levelfield.record.schema import Generation, MachineProbe, Round, Run, Turn
from levelfield.record.states import State, levels, probes_of
from tests.records_builder import make_noise, slower, with_generations

CALM = MachineProbe(900_000, 400_000, 500_000)
BUSY = MachineProbe(1_400_000, 400_000, 500_000)
AROUND: dict[State, tuple[MachineProbe, MachineProbe]] = {
    "calm": (CALM, CALM),
    "contended": (BUSY, BUSY),
    "unsettled": (CALM, BUSY),
}
Attempts = Callable[[int, int, str], tuple[State, ...]]
"""States of the attempts that an arm's window has in a generation and round."""
LOOKED = (CALM,) * 60 + (BUSY,) * 30
"""Both modes seen."""


def probed(
    run: Run,
    attempts: Attempts,
    slowed: dict[str, float] | None = None,
    *,
    looked: tuple[MachineProbe, ...] = LOOKED,
    kept: MachineProbe | None = None,
) -> Run:
    """Return a run whose windows were taken in these states.

    Parameters
    ----------
    run
        A record without probes.
    attempts
        States of each window's attempts.
    slowed
        By what factor an arm's windows are slower where the machine is not calm.
    looked, kept
        What the levels rest on.
    """
    factors = slowed or {}

    def turns(generation: int, number: int, turn: Turn) -> tuple[Turn, ...]:
        return tuple(
            awaited(
                msgspec.structs.replace(turn, probed_before=AROUND[state][0], probed_after=AROUND[state][1]),
                1.0 if state == "calm" else factors.get(turn.arm, 1.0),
            )
            for state in attempts(generation, number, turn.arm)
        )

    def round_(generation: int, found: Round) -> Round:
        taken = tuple(each for turn in found.turns for each in turns(generation, found.index, turn))
        return msgspec.structs.replace(found, turns=taken)

    def generation(found: Generation) -> Generation:
        rounds = tuple(round_(found.index, each) for each in found.rounds)
        return msgspec.structs.replace(found, rounds=rounds, levels=levels(looked, kept))

    return with_generations(run, generation)


def awaited(turn: Turn, factor: float) -> Turn:
    """Return a turn that takes so many times as long, and for which the supervisor waited little longer."""
    turn = slower(turn, factor)
    if turn.window is None or turn.noise is None:
        return turn
    taken_ns = turn.window.window_ns + sum(turn.window.rewarm_ns)
    return msgspec.structs.replace(turn, noise=make_noise(taken_ns, steal=0.001))


def agreeing(run: Run, looked: tuple[MachineProbe, ...] = LOOKED) -> Run:
    """Return the first block of a run with the levels of its probes until then, after a first look."""
    made = list(looked)

    def generation(found: Generation) -> Generation:
        made.extend(probes_of(turn for taken in found.rounds for turn in taken.turns))
        return msgspec.structs.replace(found, levels=levels(made), looked=() if found.index else looked)

    first = run.blocks[:1]
    settings = msgspec.structs.replace(run.settings, scenarios=(first[0].case.scenario,))
    return with_generations(msgspec.structs.replace(run, blocks=first, settings=settings), generation)
