"""The exact command that measures the same plan again."""

import shlex

from levelfield.record.cpu_lists import as_text
from levelfield.record.schema import Arm, OwnFile, Run, Settings
from levelfield.report import units


def command(run: Run) -> str:
    """Spell out every setting of the run as one command line."""
    if run.imported is not None:
        return "levelfield import FILE"  # its own name is not kept; the record has its SHA-256
    settings = run.settings
    arms = list(dict.fromkeys(arm.id for block in run.blocks for arm in block.arms))
    known = {arm.id: arm for block in run.blocks for arm in block.arms}
    pair = _of_ab(run, arms)
    words = ["levelfield", *(pair or ["bench"])]
    words += ["--profile", settings.profile]
    words += ["--models", ",".join(_families(settings))] if settings.own is None else _own(settings.own)
    for _ in settings.own_weights:
        words += ["--weights", "FOLDER"]  # its path is private; `reproduce` checks its digest
    words += [] if pair else ["--backends", ",".join(map(_typable, settings.backends))]
    # Batches of some models only are what a profile takes of itself: a scenario that is named takes all models.
    by_profile = bool(settings.batches) and set(settings.batches) != set(settings.models)
    words += [] if by_profile else ["--scenarios", ",".join(settings.scenarios)]
    words += ["--precision", ",".join(settings.precisions)]
    words += ["--threads", ",".join(map(str, settings.thread_counts or (settings.threads,)))]
    words += ["--cpus", _cpus(settings.cpus_requested)] if settings.cpus_requested else []
    words += ["--processes", ",".join(map(str, settings.process_counts))] if settings.process_counts else []
    words += ["--depths", ",".join(map(str, settings.depths))] if settings.depths else []
    words += ["--kv-cache", ",".join(settings.kv_caches)] if settings.kv_caches else []
    parts = settings.batches, settings.training_batches, settings.decoding_batches
    batches = {sizes for part in parts for sizes in part.values()}
    if len(batches) == 1 and not by_profile:  # a size for every model differs by profile alone, which is named above
        words += ["--batch", ",".join(map(str, batches.pop()))]
    words += [] if pair else ["--control", _control([known[name] for name in arms])]
    for name in arms:
        if known[name].inject:
            words += ["--inject", f"{known[name].inject}@{name}"]
    if settings.budget_seconds is not None:
        words += ["--budget", f"{settings.budget_seconds:g}s"]
    if settings.precision_target is not None:
        words += ["--precision-target", f"{100 * settings.precision_target:g}%"]
    words += ["--margin", f"{100 * settings.margin:g}%"]
    for task in dict.fromkeys(each.task for each in run.data_sets):
        words += ["--data", f"{task}=PATH"]
    if run.data_sets:
        counts = {len(each.items) if len(each.items) < each.available else 0 for each in run.data_sets}
        words += ["--data-items", str(max(counts) or "all")]
    if settings.target is not None:
        words += ["--target", f"{100 * settings.target:g}%"]
    if settings.price is not None:
        words += ["--price", units.price(settings.price).replace(units.NBSP, "")]
    words += ["--seed", str(settings.seed)]
    words += ["--launcher", settings.launcher]
    # Left to choose, a machine with a GPU would take it.
    words += ["--variant", "cpu"] if settings.gpu is None else ["--gpu", str(settings.gpu)]
    return shlex.join(words)


def _cpus(requested: tuple[int, ...] | str) -> str:
    return requested if isinstance(requested, str) else as_text(requested)


def _of_ab(run: Run, arms: list[str]) -> list[str]:
    """Return how the arms of an `ab` are named; empty: it was none."""
    if "ab" in run.labels and len(arms) == 2:
        return ["ab", _typable(arms[0]), _typable(arms[1].partition("#")[0])]
    return []


def _families(settings: Settings) -> list[str]:
    """Return the models, by their families where weights are the user's own."""
    own = {each.model: each.model.partition("-")[0] for each in settings.own_weights}
    return list(dict.fromkeys(own.get(name, name) for name in settings.models))


def _own(own: OwnFile) -> list[str]:
    """Return the words for the user's own file, by its name: records hold no path."""
    if own.function:
        return ["--module", f"{own.file}:{own.function}"]
    words = ["--model", own.file]
    for name, size in own.dimensions.items():
        words += ["--dim", f"{name}={size}"]
    for each in own.inputs:
        if each.sha256:
            words += ["--input", f"{each.name}={each.sha256[:12]}.npy"]
    return words


def as_typed(run: Run) -> str:
    """Return the command that was typed, quoted for a shell."""
    return shlex.join(run.command)


def _typable(arm: str) -> str:
    """Leave out the variant of the `host` launcher, which means any CUDA that was installed."""
    return arm.replace("@cuda", "")


def _control(arms: list[Arm]) -> str:
    """Return the backend that occurs twice, as the control, or `none`."""
    return next((arm.backend for arm in arms if arm.ordinal > 1), "none")
