"""From what a file says to a record: a benchmark is a case, the tool is the arm, a process of the tool is a launch."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator

from levelfield.record.schema import (
    SCHEMA,
    UNKNOWN,
    Absent,
    Arm,
    Block,
    Case,
    Failure,
    Generation,
    Imported,
    Launch,
    Round,
    Run,
    Settings,
    Turn,
    Window,
)
from levelfield.version import __version__
from levelfield_readers.recorded import Recorded, Result, Timed

ALWAYS_UNKNOWN = ("what the machine did meanwhile",)
"""No file of another tool has it."""


def make(recorded: Recorded, *, sha256: str, now: str, tool_sha256: str, command: tuple[str, ...]) -> Run:
    """Make the record of a file; `now`, UTC in ISO 8601, is the run's start where the file has none."""
    started = now if isinstance(recorded.started, Absent) else recorded.started
    arm = Arm(backend=recorded.tool, image=recorded.tool)
    results = _named_once(recorded.results)
    return Run(
        schema=SCHEMA,
        id=f"{started[:19].replace('-', '').replace(':', '').replace('T', '-')}-imported-{sha256[:8]}",
        started=started,
        tool_version=__version__,
        tool_sha256=tool_sha256,
        command=command,
        settings=_settings(recorded.tool, [result.name for result in results]),
        machine=recorded.machine,
        images=(),
        artifacts=(),
        blocks=tuple(_block(result, arm, started) for result in results),
        finished=started,
        imported=Imported(
            tool=recorded.tool,
            version=recorded.version,
            sha256=sha256,
            recorded=recorded.started,
            unknown=(*ALWAYS_UNKNOWN, *recorded.unknown),
            left_out=recorded.left_out,
        ),
    )


def _named_once(results: Iterable[Result]) -> tuple[Result, ...]:
    """Number the results that share a name: `sleep 1`, `sleep 1 (2)`."""
    seen: Counter[tuple[str, str]] = Counter()
    named = []
    for result in results:
        name = result.name
        while seen[name, result.scenario]:
            seen[result.name, result.scenario] += 1
            name = f"{result.name} ({seen[result.name, result.scenario]})"
        seen[name, result.scenario] += 1
        named.append(Result(name, result.launches, result.scenario, result.failure))
    return tuple(named)


def _block(result: Result, arm: Arm, started: str) -> Block:
    launches = result.launches or ((),)
    why = result.failure or ("" if any(launches) else "the file holds no time of it")
    failure = Failure("measure", "error", why) if why else None
    return Block(
        case=Case(result.name, result.scenario, UNKNOWN, batch=1, threads=1, device=UNKNOWN),
        arms=(arm,),
        planned_generations=len(launches),
        generations=tuple(
            Generation(
                index=index,
                seed=0,
                launches=(Launch(arm=arm.id, started=started, failure=failure),),
                rounds=() if failure else tuple(_rounds(samples, arm.id)),
                complete=True,
            )
            for index, samples in enumerate(launches)
        ),
    )


def _rounds(samples: Iterable[Timed], arm: str) -> Iterator[Round]:
    """Yield a round for each series of samples of as many calls."""
    groups = itertools.groupby(samples, key=lambda sample: sample.calls)
    for index, (calls, group) in enumerate(groups):
        times = tuple(sample.total_ns for sample in group)
        window = Window(
            rewarm_ns=(),
            samples_ns=times,
            window_ns=sum(times),
            user_ns=0,
            system_ns=0,
            voluntary_switches=0,
            involuntary_switches=0,
            minor_faults=0,
            major_faults=0,
            calls_per_sample=calls,
        )
        yield Round(index=index, turns=(Turn(arm=arm, window=window),))


def _settings(tool: str, names: list[str]) -> Settings:
    """Return settings as a record has to have them; what is known is that nothing was asked for."""
    return Settings(
        profile="imported",
        models=tuple(names),
        backends=(tool,),
        scenarios=(),
        precisions=(UNKNOWN,),
        batches={},
        threads=1,
        cpus=(),
        generations=0,
        rounds=0,
        budget_seconds=None,
        precision_target=None,
        margin=0.02,
        seed=0,
        launcher="host",
        timed_region="what the other tool timed",
    )
