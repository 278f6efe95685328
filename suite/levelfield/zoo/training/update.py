"""The update rule by itself: a few whole steps with given gradients, compared with the float64 rule.

Ten steps of a model (`zoo.training.trajectory`) cannot judge every optimizer: ResNet-50's weights after them are
so sensitive to rounding that a missing decay is no larger than what correct float32 programs differ by. Here nothing
depends on the model. Its loss is replaced by a linear one, Σ⟨gradient, weight⟩, whose gradients are those that are
given, and everything else of the framework's step stays: backward pass, average over processes, update. Both optimizers
work element by element, so the reference is computed for a sample of each tensor's elements only.

What a rule is given:

weights
    Uniform in (−1, 1).
gradients
    Other ones in each step, so that momentum, bias correction and Nesterov's step show. Half of them are uniform in
    (−1, 1); the others are smaller, down to 2⁻²³, so that AdamW's epsilon shows, wherever it is added.
hyper-parameters
    The recipe's own, but for two: the learning rate and the weight decay are multiplied by powers of two (exact in any
    binary floating point) that bring each into [1/4, 1/2). With its own numbers a decay moves a weight by 4·10⁻⁹ of its
    size in a step of ResNet-50, a fifteenth of what float32 can store.
"""

import math
from typing import TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.zoo import bits
from levelfield.zoo.spec import Model, Parameter
from levelfield.zoo.training import parity
from levelfield.zoo.training.optimizers import Updater
from levelfield.zoo.training.recipe import Optimizer
from levelfield.zoo.weights import SEED, Arrays

STEPS = 3
"""The fewest in which every term has an effect of its own: momentum is zero before the second."""
SAMPLES = 256
"""Elements that are compared of each trained tensor; all of them where it has no more."""
MAGNITUDES = 24
"""Of gradients: 2⁰ … 2⁻²³; of every other element they have magnitude 1."""
_STRIDE = 7
"""From one magnitude to the next element's; it has no factor in common with `MAGNITUDES`."""
_POOL = 1 << 16
"""Random values that all tensors are cut from, each from a place of its own: to draw a value for each of BERT's weights
takes longer than the step."""
_VALUE_BYTES = 4
"""A float32."""

_Float64: TypeAlias = npt.NDArray[np.float64]


class Amplification(msgspec.Struct, frozen=True):
    """What two hyper-parameters are multiplied by while the rule is checked: powers of two."""

    learning_rate: float = 1.0
    weight_decay: float = 1.0


class Judgement(msgspec.Struct, frozen=True):
    """Whether an optimizer follows the recipe, and why not."""

    error: float
    """The largest of all tensors' `errors`; infinite where the weights are not comparable."""
    tolerance: float
    reason: str
    """One sentence; empty when the rule is followed."""

    @property
    def equal(self) -> bool:
        """Whether the error is within the tolerance."""
        return not self.reason


def amplification(optimizer: Optimizer) -> Amplification:
    """Return what brings a recipe's learning rate and weight decay into [1/4, 1/2).

    Examples
    --------
    >>> amplification(recipe.SGD(learning_rate=4e-5, momentum=0.9, weight_decay=1e-4))
    Amplification(learning_rate=8192.0, weight_decay=4096.0)
    """
    return Amplification(_power(optimizer.learning_rate), _power(optimizer.weight_decay))


def _power(value: float) -> float:
    return 2.0 ** -(math.frexp(value)[1] + 1) if value > 0 else 1.0


def amplified(optimizer: Optimizer, by: Amplification) -> Optimizer:
    """Return a rule with its own learning rate and weight decay multiplied."""
    return msgspec.structs.replace(
        optimizer,
        learning_rate=optimizer.learning_rate * by.learning_rate,
        weight_decay=optimizer.weight_decay * by.weight_decay,
    )


def begin(model: Model) -> Arrays:
    """Return the weights that the check begins with: float32, shapes of the specification, running statistics too."""
    made: Arrays = {
        each.name: np.full(each.shape, each.name.endswith("_var"), dtype=np.float32) for each in model.statistics
    }
    pool = _pool(model, _BEGIN)
    return made | {each.name: _tiled(pool, each) for each in model.trained}


def gradients(model: Model, step: int, process: int = 0) -> Arrays:
    """Return what one process's loss gives each trained tensor in a step: float32, shapes of the specification.

    The update is made from the mean over all processes.
    """
    pool = _gradient_pool(model, step, process)
    return {each.name: _tiled(pool, each) for each in model.trained}


def sample(model: Model, weights: Arrays) -> npt.NDArray[np.float32]:
    """Return the elements that are compared, tensor after tensor in the order of the specification."""
    return np.concatenate([weights[each.name].reshape(-1)[_positions(each)].astype("<f4") for each in model.trained])


def sampled_begin(model: Model) -> dict[str, _Float64]:
    """Return the sampled elements of each trained tensor before the steps."""
    return _sampled(_pool(model, _BEGIN), model)


def reference(
    model: Model, optimizer: Optimizer, *, processes: int = 1, perturbation: int | None = None
) -> dict[str, _Float64]:
    """Return the sampled elements of each trained tensor after the steps, in float64: the definition of the update.

    `perturbation`: number of a seeded draw: weights and gradients are perturbed by 2⁻²⁴ relative; None: they are exact.
    """
    state = sampled_begin(model)
    if perturbation is not None:
        state = _perturbed(state, f"begin/{perturbation}")
    updater = Updater(model, amplified(optimizer, amplification(optimizer)))
    for step in range(STEPS):
        given = [_sampled(_gradient_pool(model, step, process), model) for process in range(processes)]
        mean = {name: np.mean([each[name] for each in given], axis=0) for name in given[0]}
        updater.update(state, mean if perturbation is None else _perturbed(mean, f"{step}/{perturbation}"))
    return state


def tolerance(model: Model, optimizer: Optimizer, *, processes: int = 1) -> float:
    """Return how far a correct float32 program may stray.

    As in `zoo.training.parity`: what half a unit in the last place of a float32 makes of the reference, in each
    weight and each gradient that the rule is given, times the same factor. No framework is involved.
    """
    exact = reference(model, optimizer, processes=processes)
    moved = [reference(model, optimizer, processes=processes, perturbation=draw) for draw in range(parity.DRAWS)]
    return parity.allowed(max(max(errors(model, each, exact).values()) for each in moved))


def errors(model: Model, found: dict[str, _Float64], exact: dict[str, _Float64]) -> dict[str, float]:
    """Return each tensor's error: ‖found − exact‖₂ / (‖begin‖₂ + ‖exact − begin‖₂).

    A float32 weight is rounded in proportion to its size on the way, which the denominator stands for: a bias of one
    element may end near where it began, or near zero.
    """
    start = sampled_begin(model)
    norm = np.linalg.norm
    return {
        name: float(norm(found[name] - after) / (norm(start[name]) + norm(after - start[name])))
        for name, after in exact.items()
    }


def judge(values: bytes, model: Model, optimizer: Optimizer, *, processes: int = 1) -> Judgement:
    """Decide whether an optimizer follows the recipe."""
    allowed = tolerance(model, optimizer, processes=processes)
    exact = reference(model, optimizer, processes=processes)
    counts = [array.size for array in exact.values()]
    flat = np.frombuffer(values, dtype="<f4") if len(values) == _VALUE_BYTES * sum(counts) else None
    if flat is None or not np.isfinite(flat).all():
        what = "not finite" if flat is not None else "not as many as were asked for"
        return Judgement(math.inf, allowed, f"{_REFUSED}: with given gradients its weights are {what}.")
    parts = np.split(flat.astype(np.float64), np.cumsum(counts)[:-1])
    found = errors(model, dict(zip(exact, parts, strict=True)), exact)
    worst = max(found, key=found.__getitem__)
    if found[worst] <= allowed:
        return Judgement(found[worst], allowed, "")
    wrong = sum(error > allowed for error in found.values())
    return Judgement(
        found[worst],
        allowed,
        f"{_REFUSED}: after {STEPS} steps with given gradients {wrong} of {len(found)} tensors are wrong, "
        f"{worst} the most, off by {found[worst]:.1e} ({allowed:.0e} allowed).",
    )


_BEGIN = "begin"
_REFUSED = "Its optimizer does not follow the recipe"


def _pool(model: Model, stream: str) -> npt.NDArray[np.float32]:
    return bits.symmetric(f"{SEED}/{model.name}/update/{stream}", (_POOL,))


def _gradient_pool(model: Model, step: int, process: int) -> npt.NDArray[np.float32]:
    """Return uniform values of which every second one is scaled down, the same ones in every step."""
    index = np.arange(_POOL)
    exponents = np.where(index % 2, _STRIDE * (index // 2) % MAGNITUDES, 0)
    return _pool(model, f"gradients/{step}/{process}") * (2.0**-exponents).astype(np.float32)


def _place(parameter: Parameter) -> int:
    """Return where in the pools a tensor begins: an even place, so that its first gradient has magnitude 1."""
    return 2 * int(bits.integers(f"{SEED}/update/place/{parameter.name}", 1, bits=15)[0])


def _tiled(pool: npt.NDArray[np.float32], parameter: Parameter) -> npt.NDArray[np.float32]:
    return np.resize(np.roll(pool, -_place(parameter)), parameter.shape)


def _positions(parameter: Parameter) -> npt.NDArray[np.int64]:
    if parameter.count <= SAMPLES:
        return np.arange(parameter.count)
    return np.sort(bits.integers(f"{SEED}/update/positions/{parameter.name}", SAMPLES, bits=53) % parameter.count)


def _sampled(pool: npt.NDArray[np.float32], model: Model) -> dict[str, _Float64]:
    return {each.name: pool[(_place(each) + _positions(each)) % _POOL].astype(np.float64) for each in model.trained}


def _perturbed(arrays: dict[str, _Float64], stream: str) -> dict[str, _Float64]:
    moved: dict[str, _Float64] = {}
    for name, array in arrays.items():
        up = bits.integers(f"{SEED}/update/perturbation/{stream}/{name}", array.size, bits=1)
        moved[name] = array * (1 + parity.PERTURBATION * (2 * up - 1))
    return moved
