"""Where arms compute: on the CPU, or on one GPU with the CUDA variant that fits; decided before anything is fetched."""

from collections.abc import Mapping, Sequence

import msgspec

from levelfield.backends import registry
from levelfield.compatibility.gate import Choice, Gpu, Nvidia
from levelfield.errors import LevelfieldError
from levelfield.images import build, catalogue
from levelfield.record import warnings as notices
from levelfield.record.references import DEFAULT_VARIANT, parse, suffix
from levelfield.record.schema import Arm, Warning_

AUTO = "auto"
CUDA = "cuda"
"""Device of a case; and, with the `host` launcher, the variant of an arm: whatever CUDA the interpreter has."""


class DeviceRequest(msgspec.Struct, frozen=True):
    """Variant and GPU that a user asks for."""

    variant: str = DEFAULT_VARIANT
    """`cpu`, `cu12`, …; `auto`: the GPU where one can be used, else the CPU."""
    gpu: int | None = None
    """Index of the GPU, as NVML counts."""
    named: bool = False
    """Whether the user named the arms: none may be left out."""
    locked: bool = True
    """False: the `host` launcher, which has no locks."""


class Placement(msgspec.Struct, frozen=True):
    arms: tuple[Arm, ...]
    device: str = "cpu"
    gpu: int | None = None
    """Index of the one GPU that is used; None: none is."""
    warnings: tuple[Warning_, ...] = ()


class _Fit(msgspec.Struct, frozen=True):
    """What one GPU can be used for."""

    gpu: Gpu
    choices: dict[str, Choice]
    """By arm id."""

    @property
    def problem(self) -> Choice | None:
        return next((choice for choice in self.choices.values() if choice.variant is None), None)

    @property
    def running(self) -> int:
        """How many arms can use it."""
        return sum(choice.variant is not None for choice in self.choices.values())


def place(arms: Sequence[Arm], request: DeviceRequest, here: Nvidia) -> Placement:
    """Give every arm the variant that it runs in.

    Raises LevelfieldError: what was asked for contradicts itself, is not there, or cannot run here; nothing has been
    fetched by then.
    """
    own = next((arm for arm in arms if arm.variant != DEFAULT_VARIANT), None)
    if request.variant == DEFAULT_VARIANT and (own is not None or request.gpu is not None):
        raise LevelfieldError(
            f"{own.id if own else '--gpu'} asks for a GPU, and --variant cpu for none.",
            fix="Leave one of them out: the arms of a run compute on one kind of device.",
        )
    requested = own is not None or request.gpu is not None or request.variant not in {DEFAULT_VARIANT, AUTO}
    if request.variant == DEFAULT_VARIANT:
        return on_cpu(arms, request)
    if not requested and not (here.driver and here.gpus):
        placed = on_cpu(arms, request)
        broken = (notices.gpu_not_used(f"{here.problem.rstrip('.')}.", here.fix),) if here.fix else ()
        return msgspec.structs.replace(placed, warnings=broken)
    try:
        return _on_gpu(arms, request, here)
    except LevelfieldError as error:
        if requested:
            raise
        placed = on_cpu(arms, request)
        return msgspec.structs.replace(placed, warnings=(notices.gpu_not_used(error.message, error.fix),))


def on_cpu(arms: Sequence[Arm], request: DeviceRequest) -> Placement:
    """Place all arms that can compute on the CPU there; of the others, those that were named are refused."""
    staying = tuple(arm for arm in arms if "cpu" in registry.get(arm.backend).devices)
    left = next((arm for arm in arms if arm not in staying), None)
    if left is not None and request.named:
        raise LevelfieldError(
            f"{left.backend} runs on NVIDIA GPUs only, and none is used.",
            fix="Ask for one with --gpu 0; `levelfield doctor` says what there is.",
        )
    return Placement(staying)


def _on_gpu(arms: Sequence[Arm], request: DeviceRequest, here: Nvidia) -> Placement:
    if here.driver is None:
        raise LevelfieldError(
            f"No NVIDIA driver answers here: {here.problem.rstrip('.')}.",
            fix=here.fix or "Leave out --gpu and CUDA variants, and everything runs on the CPU.",
        )
    staying = tuple(arm for arm in arms if _variants_of(arm, request))
    left = tuple(arm for arm in arms if arm not in staying)
    if left and (request.named or not staying):
        what = request.variant if request.variant != AUTO else "CUDA variant"
        unlocked = catalogue.unlocked(left[0].image)
        fix = "Leave it out with --backends, or measure on the CPU: --variant cpu."
        if unlocked:
            fix = f"Lock it where its index answers: `levelfield images lock {left[0].image}@{unlocked[0]}`."
        raise LevelfieldError(f"{left[0].backend} has no {what}.", fix=fix)
    fit = _fit(staying, request, here)
    missed = [arm.id for arm in left if not catalogue.unlocked(arm.image)]
    found = [notices.left_out(missed, "they have no CUDA variant")] if missed else []
    unfit = tuple(arm for arm in staying if fit.choices[arm.id].variant is None)
    for choice in dict.fromkeys(fit.choices[arm.id] for arm in unfit):
        names = [arm.id for arm in unfit if fit.choices[arm.id] == choice]
        found.append(notices.left_out(names, f"it cannot run here ({choice.reason.rstrip('.')})", choice.fix))
    staying = tuple(arm for arm in staying if arm not in unfit)
    placed = []
    for arm in staying:
        choice = fit.choices[arm.id]
        variant = choice.variant if request.locked else CUDA
        placed.append(msgspec.structs.replace(arm, variant=variant or CUDA))
        found += [notices.cuda_misfit(placed[-1].id, text, "") for text in choice.warnings]
    return Placement(tuple(placed), device=CUDA, gpu=fit.gpu.index, warnings=tuple(found))


def _variants_of(arm: Arm, request: DeviceRequest) -> Mapping[str, str]:
    if not request.locked:
        return {CUDA: ""} if CUDA in registry.get(arm.backend).devices else {}
    there = build.cuda_variants(arm.image, arm.version)
    if arm.variant != DEFAULT_VARIANT:
        return {name: release for name, release in there.items() if name == arm.variant}
    if request.variant == AUTO:
        return there
    return {name: release for name, release in there.items() if name == request.variant}


def _fit(arms: Sequence[Arm], request: DeviceRequest, here: Nvidia) -> _Fit:
    """Return the first GPU that every arm can use, or, where none was named, most can; with the variant of each."""
    fits = []
    for gpu in here.gpus:
        if gpu.mig or gpu.prohibited or request.gpu not in {None, gpu.index}:
            continue
        fits.append(_Fit(gpu, {arm.id: _choose(arm, request, here, gpu) for arm in arms}))
        if fits[-1].problem is None:
            return fits[-1]
    if not fits:
        raise _no_gpu(request, here)
    best = max(fits, key=lambda fit: fit.running)  # the first of those that are alike
    problem = fits[0].problem
    if problem is not None and (request.named or not best.running):
        raise LevelfieldError(problem.reason, fix=problem.fix)
    return best


def _choose(arm: Arm, request: DeviceRequest, here: Nvidia, gpu: Gpu) -> Choice:
    if not request.locked:
        return Choice(CUDA)
    requested = arm.variant if arm.variant != DEFAULT_VARIANT else request.variant
    return build.choose(
        arm.image, here, version=arm.version, requested=None if requested == AUTO else requested, gpu=gpu.index
    )


def _no_gpu(request: DeviceRequest, here: Nvidia) -> LevelfieldError:
    sliced = [gpu for gpu in here.gpus if gpu.mig and request.gpu in {None, gpu.index}]
    if sliced:
        return LevelfieldError(
            f"{sliced[0].title} is cut into slices (MIG is on), and a measurement takes a GPU whole.",
            fix=f"Turn MIG off for the time of the run: nvidia-smi -i {sliced[0].index} -mig 0 (as root).",
        )
    closed = next((gpu for gpu in here.gpus if gpu.prohibited and request.gpu in {None, gpu.index}), None)
    if closed is not None:
        return LevelfieldError(
            f"{closed.title} lets no process compute (its compute mode is PROHIBITED).",
            fix=f"Let them in: nvidia-smi -i {closed.index} -c DEFAULT (as root).",
        )
    have = ", ".join(gpu.title for gpu in here.gpus) or "none"
    if here.hidden and request.gpu in {None, *here.hidden}:
        return LevelfieldError(
            "CUDA_VISIBLE_DEVICES hides " + ("every GPU here." if request.gpu is None else f"the GPU {request.gpu}."),
            fix=f"Unset it, or choose one of these: {have}.",
        )
    requested = "no GPU" if request.gpu is None else f"no GPU {request.gpu}"
    return LevelfieldError(f"There is {requested} here.", fix=f"Choose one of these: {have}.")


def as_typed(names: Sequence[str], request: DeviceRequest, here: Nvidia) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Spell images to be built with the variant that fits this machine; LevelfieldError: one that is named has none."""
    found: list[str] = []
    warnings: list[str] = []
    for name in names:
        requested = parse(name)
        there = build.cuda_variants(requested.name, requested.version)
        if requested.variant != DEFAULT_VARIANT or (not there and not request.named):
            found.append(name)
            continue
        choice = build.choose(
            requested.name,
            here,
            version=requested.version,
            requested=None if request.variant == AUTO else request.variant,
            gpu=request.gpu,
        )
        if choice.variant is None:
            raise LevelfieldError(choice.reason, fix=choice.fix)
        found.append(requested.name + suffix(choice.variant, requested.version))
        warnings += choice.warnings
    return tuple(found), tuple(warnings)
