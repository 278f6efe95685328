"""Find the frameworks that the current interpreter has, and so the backends that the `host` launcher can run.

Nothing is imported: a framework that is found may still fail to load, and then its own case says why.
"""

import importlib.util
from collections.abc import Callable, Sequence

from levelfield.backends import registry
from levelfield.errors import LevelfieldError
from levelfield.record import notices
from levelfield.record.schema import Arm, Warning_


def has(module: str) -> bool:
    """Say whether this interpreter finds a module of this name."""
    return importlib.util.find_spec(module) is not None


def missing(arm: Arm, there: Callable[[str], bool] = has) -> tuple[str, ...]:
    """Return the modules of an arm's framework that this interpreter does not find."""
    return tuple(name for name in registry.get(arm.backend).imports if not there(name))


def only(
    arms: Sequence[Arm], there: Callable[[str], bool] = has, *, exported: bool = True
) -> tuple[tuple[Arm, ...], tuple[Warning_, ...]]:
    """Leave out the arms whose framework is not here, or whose model file nothing here could write.

    Raises LevelfieldError: none stays.
    """

    def stays(arm: Arm) -> bool:
        written = registry.get(arm.backend).file_format if exported else None
        return not missing(arm, there) and (written is None or all(map(there, written.imports)))

    kept = tuple(arm for arm in arms if stays(arm))
    # Of those that run on GPUs only, whoever did not install them misses nothing.
    left = [arm.id for arm in arms if arm not in kept and "cpu" in registry.get(arm.backend).devices]
    if not kept:
        raise LevelfieldError(
            f"This interpreter has the framework of none of the backends ({', '.join(left)}).",
            fix="Install one here (pip install torch), or leave out --launcher host.",
        )
    return kept, (notices.not_installed(left),) if left else ()
