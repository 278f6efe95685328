"""The settings of a report, in words, before any of it is run: all settings that decide what this machine does."""

from collections.abc import Iterator, Mapping, Sequence

from levelfield.plan import Plan
from levelfield.record.schema import Run
from levelfield.report import units
from levelfield.run.options import Options

_PLACES = {
    "docker": "containers",
    "venv": "virtual environments, with this machine's network and without a limit of memory",
    "host": "processes of this Python, with this machine's network and without a limit of memory",
}


def announced(run: Run, plan: Plan, options: Options, launcher: str) -> Iterator[str]:
    """Yield one line a setting. Texts are the record's own: a terminal must show them as they are."""
    yield f"Run {run.id}, started {run.started}, measured by Levelfield {run.tool_version}."
    yield (
        f"It will be run again: {', '.join(plan.backends)} on {', '.join(plan.models)}, "
        f"{', '.join(plan.scenarios)}, profile {plan.profile.name}, {_numbers(plan.threads)} threads."
    )
    for name, value in _settings(run, plan, options, launcher):
        yield f"  {name}: {value}"


def _settings(run: Run, plan: Plan, options: Options, launcher: str) -> Iterator[tuple[str, str]]:
    where = _PLACES[launcher]
    theirs = run.settings.launcher
    yield "workers run in", where if theirs == launcher else f"{where} (the report's: {theirs})"
    yield "precisions", ", ".join(plan.precisions)
    yield from _batches("batches", plan.batches)
    yield from _batches("training batches", plan.training_batches)
    yield from _batches("batches of tokens one by one", plan.decoding_batches)
    if plan.processes != (1,):
        yield "processes that train together", _numbers(plan.processes)
    if options.selection.depths:
        yield "depths", _numbers(options.selection.depths)
    if options.selection.kv_caches:
        yield "caches of keys and values", ", ".join(options.selection.kv_caches)
    if options.selection.control != "none":
        yield "twice, as a control", options.selection.control
    if options.selection.inject is not None:
        amount, arm = options.selection.inject
        yield "slowed down on purpose", f"{arm} by {amount}"
    launches = _numbers(sorted({block.planned_generations for block in plan.blocks}))
    yield (
        "launches of each arm",
        launches + (" or more, by the clock" if run.settings.clock_seconds is not None else ""),
    )
    settings = run.settings
    yield "time budget", "none" if options.budget_seconds is None else units.duration(options.budget_seconds)
    if options.precision_target is not None:
        yield "goes on until every ratio is known to", f"±{100 * options.precision_target:g} %"
    yield "differences that count as none", f"{100 * options.margin:g} %"
    if settings.target is not None:
        yield "accuracy to train to", f"{100 * settings.target:g} %"
    if settings.latency_target_ms is not None:
        yield "latency target of LoadGen's Server", f"{settings.latency_target_ms:g} ms"
    if settings.loadgen_test_s is not None:
        yield "shortest test of LoadGen", units.duration(settings.loadgen_test_s)
    if plan.gpu is not None:
        yield "GPU", str(plan.gpu)
    for each in plan.own_weights:
        yield "weights of its author's own", f"{each.model} (SHA-256 {each.sha256[:12]}…)"
    if plan.own is not None:
        yield "file of its author's own", f"{plan.own.file} (SHA-256 {plan.own.sha256[:12]}…)"


def _batches(name: str, batches: Mapping[str, Sequence[int]]) -> Iterator[tuple[str, str]]:
    if batches:
        yield name, "; ".join(f"{model} {_numbers(sizes)}" for model, sizes in batches.items())


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
