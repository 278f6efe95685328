"""Which files the launches of an arm have hashed: the next launch need not, while they are unchanged.

To hash the weights of BERT takes a second of a launch. The proof that all workers compute with the same weights stays:
the first launch of every arm hashes what it reads, workers cannot write there, and the kernel dates every change of a
file (`st_ctime`, which no program sets).
"""

from levelfield.backends import registry
from levelfield.record.schema import Arm, Case
from levelfield.schedule.outcomes import Stamps
from levelfield.schedule.resources import RunResources


def stamps(resources: RunResources, case: Case, arm: Arm) -> Stamps:
    """Return the state of the weights, or of the model file, that an arm reads for a case.

    Returns empty where no file is read: all is hashed in every launch.
    """
    path = _path(resources, case, arm)
    if not path:
        return ()
    whole = resources.artifacts.root / path
    found = ((each.name, each.stat()) for each in sorted(whole.parent.glob(f"{whole.name}*")))
    return tuple((name, stat.st_ino, stat.st_size, stat.st_ctime_ns) for name, stat in found)


def known(resources: RunResources, case: Case, arm: Arm, found: Stamps) -> bool:
    """Return whether an earlier launch of an arm hashed what it reads for a case."""
    return bool(found) and resources.hashed.get((arm.id, _path(resources, case, arm))) == found


def remember(resources: RunResources, case: Case, arm: Arm, found: Stamps | None) -> None:
    """Keep what a launch has hashed.

    `found`: state of the files before they were read; None or empty: nothing is kept.
    """
    if found:
        resources.hashed[arm.id, _path(resources, case, arm)] = found


def _path(resources: RunResources, case: Case, arm: Arm) -> str:
    """Return a file under the artifacts; ONNX keeps large tensors beside it, in files that begin with its name.

    Empty: the weights are made in the worker, or the file is a user's own.
    """
    if case.converges or resources.own_of(case) is not None:
        return ""
    if (file := resources.file_of(case, arm)) is not None:
        return file.path
    return resources.artifacts.weights(case.model) if registry.get(arm.backend).reads == "native" else ""
