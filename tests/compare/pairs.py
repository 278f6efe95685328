"""Synthetic records of two arms: A, and B that costs so many times as much."""

from typing import Any

import msgspec

from levelfield.record.schema import Arm, Failure, Launch, Run, Startup, Turn
from tests.records_builder import make_run, slower, with_launches, with_turns

A = Arm("onnxruntime", "onnxruntime", version="1.30.0")
B = Arm("onnxruntime", "onnxruntime")
BOX = Arm("onnxruntime", "onnxruntime", launcher="docker")
BARE = Arm("onnxruntime", "onnxruntime", launcher="venv")


def ended(of: Run) -> Run:
    """Return a run of `ab` as it is recorded: it ended with its verdict."""
    return msgspec.structs.replace(of, settings=msgspec.structs.replace(of.settings, ends_on_verdict=True))


def run(
    factor: float = 1.0,
    *,
    first: Arm = A,
    second: Arm = B,
    spread: float = 0.2,
    failing: tuple[str, ...] = (),
    wrong: tuple[str, ...] = (),
    **options: Any,
) -> Run:
    """Make a record in which `second` takes `factor` times as long and as much memory as `first`.

    Parameters
    ----------
    spread
        Factor on the noise measured on a real machine.
    failing
        Arm ids whose launches all fail.
    wrong
        Arm ids whose answers are not equal to the reference.
    options
        Of `tests.records_builder.make_run`.
    """
    plain = make_run(backends=("onnxruntime",), control="onnxruntime", noise_scale=spread, **options)
    names = {"onnxruntime": first.id, "onnxruntime#2": second.id}
    factors = {first.id: 1.0, second.id: factor}

    def launch(one: Launch) -> Launch:
        arm = names.get(one.arm, one.arm)
        if arm in failing:
            return Launch(arm=arm, started=one.started, failure=Failure("load", "error", f"{arm} would not load."))
        by = factors.get(arm, 1.0)
        startup, memory = one.startup, one.memory
        if startup is not None:
            startup = Startup(*(round(by * value) for value in msgspec.structs.astuple(startup)))
        if memory is not None and isinstance(memory.peak_rss_bytes, int):
            memory = msgspec.structs.replace(memory, peak_rss_bytes=round(by * memory.peak_rss_bytes))
        parity = one.parity
        if parity is not None:  # both arms answer alike
            parity = msgspec.structs.replace(parity, projection=(1.0,) * 64, output_sha256="0" * 64)
            if arm in wrong:
                parity = msgspec.structs.replace(parity, equal=False, reason="relative error 4.6e-02 is over 1e-05")
        version = first.version if arm == first.id and first.version else one.framework_version
        return msgspec.structs.replace(
            one, arm=arm, startup=startup, memory=memory, parity=parity, framework_version=version
        )

    def turn(one: Turn) -> Turn:
        arm = names.get(one.arm, one.arm)
        if arm in failing:
            return msgspec.structs.replace(one, arm=arm, window=None)
        return msgspec.structs.replace(slower(one, factors.get(arm, 1.0)), arm=arm)

    (image,) = plain.images
    older = msgspec.structs.replace(
        image,
        variant="cpu@1.30.0",
        tag="levelfield/onnxruntime:older",
        distributions={**image.distributions, "onnxruntime": "1.30.0"},
    )
    made = with_turns(with_launches(plain, launch), turn)
    return msgspec.structs.replace(
        made,
        blocks=tuple(msgspec.structs.replace(each, arms=(first, second)) for each in made.blocks),
        images=(image, older) if A in (first, second) else (image,),
        labels=("ab", *plain.labels),
        settings=msgspec.structs.replace(
            plain.settings,
            backends=tuple(dict.fromkeys(msgspec.structs.replace(arm, ordinal=1).id for arm in (first, second))),
        ),
    )


def places(factor: float, *, first: Arm = BOX, second: Arm = BARE, generations: int = 8, **options: Any) -> Run:
    """Make a record of arms in a container and in a virtual environment, with an image for each place."""
    made = run(factor, first=first, second=second, models=("mlp",), generations=generations, **options)
    (image,) = made.images
    other = msgspec.structs.replace(
        image, launcher="venv", tag="onnxruntime-cpu-venv", python="3.11.7", base="", layers=(), recipe_sha256=""
    )
    return msgspec.structs.replace(made, images=(image, other))
