"""The profiles a user can name: how much is asked, and how long it may take."""

from collections.abc import Sequence

import msgspec

from levelfield.scenarios import ScenarioName
from levelfield.zoo import models
from levelfield.zoo.spec import Model


class Profile(msgspec.Struct, frozen=True):
    """Settings of a profile. Window lengths are the shortest allowed; slow models get longer ones."""

    name: str
    says: str
    scenarios: tuple[ScenarioName, ...]
    generations: int
    """Launches of every arm in the latency and throughput blocks; fewer than five are never ranked."""
    rounds: int
    """Rounds in each generation, where the calls are quick."""
    rounds_ns: int
    """Time that the rounds of a generation may take; slow models get fewer rounds, two at the least."""
    window_ns: int
    min_calls: int
    """Calls in a window at the least."""
    launches_alone: int
    """Launches of every arm in the cold-start and memory blocks."""
    batches: dict[str, tuple[int, ...]]
    """Batch sizes of throughput, by model."""
    batched: tuple[str, ...]
    """Models whose throughput is measured where neither a batch nor the scenario is named."""
    seeds: int
    """Trainings of every arm to a target accuracy, each from weights of its own."""
    loadgen_test_s: float
    """Shortest test of MLPerf LoadGen, seconds: its rules ask for 600."""
    budget_seconds: float
    """Of runs that a verdict or the asked precision ends."""
    clock_seconds: float | None
    """Passes over all cases are added to `generations` as long as the measuring then ends within this time; None: there
    are as many as `generations` says."""
    most_generations: int
    """Launches after which none is added: a small selection is measured soon."""
    apart_seconds: float
    """Least time between two generations of a case. Those that follow within 3 s share a state of the machine (their
    deviations correlate with 0.39), those 9 s apart do not (0.06)."""
    trained: tuple[str, ...]
    """Models that are trained where the training scenario is not named."""
    training_batches: dict[str, tuple[int, ...]]
    """Batch sizes of the training scenario, by model."""
    labels: tuple[str, ...] = ()


_MODELS: Sequence[Model] = tuple(map(models.get, (*models.names(), *models.answering())))


def _batches(profile: str) -> dict[str, tuple[int, ...]]:
    """Return batches by name; networks of one folder and several sizes have one entry, by its name."""
    return {model.name if model.sizes is None else model.package: model.batches[profile] for model in _MODELS}


def _training_batches(profile: str) -> dict[str, tuple[int, ...]]:
    return {model.name: model.training_batches[profile] for model in _MODELS if model.recipe is not None}


_SMALL = tuple(model.name for model in _MODELS if model.small)

SMOKE = Profile(
    name="smoke",
    says="numbers and parity in a few minutes; never ranks",
    scenarios=("latency",),
    generations=2,
    rounds=2,
    rounds_ns=10_000_000_000,
    window_ns=100_000_000,
    min_calls=2,
    launches_alone=1,
    batches=_batches("smoke"),
    batched=(),
    seeds=2,
    loadgen_test_s=1.0,
    budget_seconds=180,
    clock_seconds=None,
    most_generations=2,
    apart_seconds=0,
    trained=(),
    training_batches=_training_batches("smoke"),
    labels=("smoke",),
)
STANDARD = Profile(
    name="standard",
    says="the default: inference, equal launches of everything, five at least, for some six minutes on two cores; "
    "ranked with intervals",
    scenarios=("latency", "throughput", "memory"),
    generations=5,
    rounds=6,
    rounds_ns=8_000_000_000,
    window_ns=50_000_000,
    min_calls=1,
    launches_alone=1,
    batches=_batches("standard"),
    batched=_SMALL,
    seeds=5,
    loadgen_test_s=3.0,
    budget_seconds=600,
    clock_seconds=330,
    most_generations=12,
    apart_seconds=10,
    trained=(),
    training_batches=_training_batches("standard"),
)
FULL = Profile(
    name="full",
    says="a batch sweep, ten launches of everything, all models trained, two of them to a target accuracy, cold starts "
    "with intervals: some hours",
    scenarios=("latency", "throughput", "training", "convergence", "data-pipeline", "cold-start", "memory"),
    generations=10,
    rounds=6,
    rounds_ns=120_000_000_000,
    window_ns=500_000_000,
    min_calls=5,
    launches_alone=5,
    batches=_batches("full"),
    batched=models.names(),
    seeds=10,
    loadgen_test_s=30.0,
    budget_seconds=4 * 3600,
    clock_seconds=None,
    most_generations=10,
    apart_seconds=10,
    trained=tuple(_training_batches("full")),
    training_batches=_training_batches("full"),
)
PROFILES = {profile.name: profile for profile in (SMOKE, STANDARD, FULL)}
