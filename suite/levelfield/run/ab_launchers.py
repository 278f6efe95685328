"""The arms of an `ab` with different launchers: each gets its own, and what is impossible is refused before the run.

Where one arm names a launcher, both are spelled with theirs in the record and the report: a reader of `onnxruntime`
against `onnxruntime+launcher=venv` would have to know where the first one was.
"""

import platform
from collections.abc import Callable

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.launchers.docker import connect
from levelfield.plan import Plan, arms
from levelfield.plan import arms as arm_names
from levelfield.plan.arms import LAUNCHERS
from levelfield.record.references import DEFAULT_VARIANT, suffix
from levelfield.record.schema import Arm
from levelfield.report.sentences import join
from levelfield.run.options import Options

USUAL = "docker"
"""Launcher of an arm that names none beside one that does, if `--launcher` is not given either."""


def choose_launchers(
    first: str, second: str, options: Options, *, there: Callable[[str], bool] = arms.is_installed
) -> tuple[str, str, Options]:
    """Give both arms a launcher where one of them names it; otherwise change nothing.

    No other launcher is ever taken in place of one that does not work: two arms in the same place would be measured,
    and called a comparison of two.

    Raises LevelfieldError: the interpreter lacks the framework of an arm that is to live in it, or no engine answers
    for one that is to live in a container.
    """
    read = [arm_names.parse(each) for each in (first, second)]
    if not any(arm.launcher for arm in read):
        return first, second, options
    places = [arm.launcher or options.launcher or USUAL for arm in read]
    found = [msgspec.structs.replace(arm, launcher=place) for arm, place in zip(read, places, strict=True)]
    for arm in found:
        if arm.launcher == "host":
            _check_host(arm, there)
    if "docker" in places:
        _check_engine()
    launcher = options.launcher or next(each for each in LAUNCHERS if each in places)
    selection = msgspec.structs.replace(options.selection, locked=set(places) != {"host"})
    return found[0].id, found[1].id, msgspec.structs.replace(options, launcher=launcher, selection=selection)


def _check_host(arm: Arm, there: Callable[[str], bool]) -> None:
    if arm.version is not None:
        raise LevelfieldError(
            f"{arm.id} is to run in this interpreter, which has what is installed there and no versions.",
            fix=f"Leave {suffix(DEFAULT_VARIANT, arm.version)} out, or choose +{arm_names.LAUNCHER}=venv.",
        )
    lacking = arms.missing_modules(arm, there)
    if lacking:
        raise LevelfieldError(
            f"{arm.id} is to run in this interpreter (Python {platform.python_version()}), which has no "
            f"{join(lacking)}.",
            fix=f"Install it here, or choose +{arm_names.LAUNCHER}=venv, which brings the locked one.",
        )


def _check_engine() -> None:
    try:
        connect().close()
    except LevelfieldError as error:
        raise LevelfieldError(
            f"An arm is to run in containers. {error.message}",
            fix="Start an engine (`levelfield doctor` says how): what a container costs is told beside one, or not at "
            "all.",
        ) from error


def fits(plan: Plan) -> Plan:
    """Return a plan whose arms can be compared although their launchers differ.

    Raises LevelfieldError: on a GPU, one of two arms runs in the current interpreter: no lock says which CUDA it has.
    """
    places = {arm.launcher for block in plan.blocks for arm in block.arms} - {""}
    if plan.gpu is not None and "host" in places and len(places) > 1:
        raise LevelfieldError(
            "On a GPU, this interpreter's own CUDA cannot be compared with a locked one.",
            fix="Add --variant cpu, or choose docker and venv.",
        )
    return plan
