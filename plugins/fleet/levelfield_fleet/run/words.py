"""The words of `levelfield bench` that mean the same on a node as the options mean here."""

from collections.abc import Iterator

from levelfield.errors import LevelfieldError
from levelfield.run.options import Options


def of(options: Options, launcher: str) -> tuple[str, ...]:
    """Return the words of a run, without its folder of reports and its seed.

    Raises LevelfieldError: they name a file or a folder of this machine.
    """
    chosen = options.selection
    if chosen.own is not None or chosen.own_weights or options.data_sets:
        raise LevelfieldError(
            "A file or folder of your own is not sent to nodes.",
            fix="Measure it with `levelfield bench` on each node, and judge with `levelfield fleet gather`.",
        )
    return tuple(_words(options, launcher))


def _words(options: Options, launcher: str) -> Iterator[str]:
    chosen = options.selection
    values = {
        "--profile": chosen.profile,
        "--models": ",".join(chosen.models),
        "--backends": ",".join(chosen.backends),
        "--scenarios": ",".join(chosen.scenarios),
        "--precision": ",".join(chosen.precisions),
        "--batch": ",".join(map(str, chosen.batches)),
        "--threads": ",".join(map(str, chosen.threads)),
        "--processes": ",".join(map(str, chosen.processes)),
        "--depths": ",".join(map(str, chosen.depths)),
        "--kv-cache": ",".join(chosen.kv_caches),
        "--control": chosen.control,
        "--inject": "@".join(chosen.inject or ()),
        "--variant": chosen.variant,
        "--gpu": chosen.gpu,
        "--launcher": launcher,
        "--base": options.base,
        "--budget": None if options.budget_seconds is None else f"{options.budget_seconds:f}s",
        "--precision-target": options.precision_target,
        "--margin": options.margin,
        "--target": options.target,
    }
    for name, value in values.items():
        if value not in (None, ""):
            yield from (name, str(value))
    if options.identify:
        yield "--identify"
