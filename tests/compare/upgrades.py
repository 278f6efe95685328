"""Upgrades of synthetic runs: five boots a phase, with what a test wants to be different about them."""

from collections.abc import Callable
from functools import cache

from levelfield.analysis.summary import Reduced
from levelfield.compare.types import Comparison
from levelfield.compare.upgrade import Design, Phases, judge
from levelfield.record.schema import Run
from tests.compare.runs import reduced, run, with_machine

BOOTS = 5
DESIGN = Design(margin=0.02, one_way=False)
ONE_WAY = Design(margin=0.02, one_way=True)
OLD_MACHINE = {"kernel": {"release": "6.1"}, "clock": {"governor": "performance"}}
UPGRADED = OLD_MACHINE | {"kernel": {"release": "6.12"}}
LOST = UPGRADED | {"clock": {"governor": "powersave"}}
Change = Callable[[Run], Run]


def boots(
    phase: str, machine: dict[str, dict[str, str]], change: Change = lambda each: each, **options: object
) -> list[Reduced]:
    """Five boots, each a run with a little noise of its own."""
    first = {"before": 10, "new": 20, "after": 30}[phase]
    return [
        reduced(change(with_machine(run(f"{phase}-{number}", first + number, noise_scale=0.1, **options), **machine)))
        for number in range(BOOTS)
    ]


def upgraded(
    new: dict[str, dict[str, str]] = UPGRADED,
    *,
    change: Change = lambda each: each,
    accepted: tuple[str, ...] = (),
    after: dict[str, float] | None = None,
    one_way: bool = False,
    **options: object,
) -> Comparison:
    back = [] if one_way else boots("after", OLD_MACHINE, slower=after)
    phases = Phases(boots("before", OLD_MACHINE), boots("new", new, change, **options), back)
    return judge(ONE_WAY if one_way else DESIGN, phases, accepted)


@cache
def lost_setting() -> Comparison:
    """The kernel was exchanged, the governor was lost, and one arm is slower."""
    return upgraded(LOST, slower={"onnxruntime": 1.25})
