"""The exact command that measures the same plan again."""

import shlex

from suite.records.schema import Run


def command(run: Run) -> str:
    """Spell out every setting of the run as one command line."""
    settings = run.settings
    words = ["levelfield", "bench", "--profile", settings.profile]
    words += ["--models", ",".join(settings.models)]
    words += ["--backends", ",".join(settings.backends)]
    words += ["--scenarios", ",".join(settings.scenarios)]
    words += ["--precision", ",".join(settings.precisions)]
    words += ["--threads", str(settings.threads)]
    batches = set(settings.batches.values())
    if len(batches) == 1:
        words += ["--batch", ",".join(map(str, next(iter(batches))))]
    if settings.budget_seconds is not None:
        words += ["--budget", f"{settings.budget_seconds:g}"]
    words += ["--seed", str(settings.seed)]
    words += ["--launcher", settings.launcher]
    return shlex.join(words)


def as_typed(run: Run) -> str:
    """Return the command that was typed, quoted for a shell."""
    return shlex.join(run.command)
