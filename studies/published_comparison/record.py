"""What the folklore trial measured and found, as it is committed."""

from typing import ClassVar

import msgspec

from studies.commands import Measurement
from studies.harness.findings import Generation, Interval


class Form(msgspec.Struct, frozen=True):
    """One way to run a framework."""

    backend: str
    name: str
    """`as published`, `fairly`, or what was mended on the way from one to the other."""
    does: str
    """What is timed, in words."""
    mends: str = ""
    """What it does otherwise than the form before it; empty where that is none."""

    @property
    def arm(self) -> str:
        return f"{self.backend}, {self.name}"


class AnswerCheck(msgspec.Struct, frozen=True):
    """The answer of a form, compared with the float64 reference."""

    arm: str
    equal: bool | None
    """None: it has no weights of the reference, so there is nothing to compare."""
    relative_error: float | None
    reason: str


class TableEntry(msgspec.Struct, frozen=True):
    """A row of one of the two tables."""

    arm: str
    ns: Interval
    """Time of a call over all samples."""
    rank: int | None
    """At least rank - 1 frameworks are faster, all pairs judged at once; None: it is not ranked."""
    unranked: str = ""
    """Why not: too few launches, or an answer that is not shown to equal the reference."""


class Improvement(msgspec.Struct, frozen=True):
    """What one change brought."""

    mends: str
    factor: Interval
    """The time before over the time after."""


class Row(msgspec.Struct, frozen=True):
    """One framework in both tables."""

    backend: str
    title: str
    published_ms: float
    """As the published comparison states it, on its machine."""
    published: TableEntry
    fairly: TableEntry
    factor: Interval
    """As published over fairly."""
    mended: tuple[Improvement, ...]
    overtakes: tuple[str, ...] = ()
    """Frameworks that are ranked before it as published, and behind it fairly."""
    overtaken_by: tuple[str, ...] = ()
    reason: str = ""
    """Why its rank fairly is another one than as published, or there is one only fairly; empty where it is the same."""

    @property
    def flips(self) -> bool:
        return None not in (self.published.rank, self.fairly.rank) and self.published.rank != self.fairly.rank


class Folklore(Measurement, frozen=True, kw_only=True):
    """The whole record."""

    TRIAL: ClassVar = "folklore"

    batch: int
    threads: int
    cpus: tuple[int, ...]
    settings: dict[str, float]
    forms: tuple[Form, ...] = ()
    said: tuple[AnswerCheck, ...] = ()
    generations: tuple[Generation, ...] = ()
    rows: tuple[Row, ...] = ()
    failures: dict[str, str] = msgspec.field(default_factory=dict)
    """Backend to why it is in neither table."""


AS_PUBLISHED, FAIRLY = "as published", "fairly"
BATCH = 1000


class Framework(msgspec.Struct, frozen=True):
    """One row of the published table."""

    backend: str
    title: str
    published_ms: float
    forms: tuple[Form, ...]
    """The published one first, the fair one last."""


def _framework(backend: str, title: str, published_ms: float, *forms: tuple[str, str, str]) -> Framework:
    return Framework(backend, title, published_ms, tuple(Form(backend, *form) for form in forms))


FRAMEWORKS = (
    _framework(
        "torch",
        "PyTorch",
        1.26,
        (AS_PUBLISHED, "model(torch.tensor(x)), gradients recorded", ""),
        ("without gradients", "the same in inference mode", "no gradients are recorded"),
        (FAIRLY, "the batch in inference mode, from NumPy to NumPy", "the input is not copied, nothing is polled"),
    ),
    _framework(
        "tensorflow",
        "TensorFlow",
        6.61,
        (AS_PUBLISHED, "model(x) on a Keras model, layer by layer in eager mode", ""),
        (FAIRLY, "a tf.function traced once, from NumPy to NumPy", "a traced function instead of eager Keras layers"),
        ("with predict", "model.predict(x), as other tellings have it", ""),
    ),
    _framework(
        "jax",
        "JAX",
        3.15,
        (AS_PUBLISHED, "not compiled, weights of ones made in the call, the result not waited for", ""),
        ("waited for", "the same, waited for", "the result is waited for"),
        (
            "weights made before",
            "not compiled, with the model's weights",
            "weights are made before, and not in the call",
        ),
        (FAIRLY, "jit, from NumPy to NumPy", "the function is compiled"),
    ),
    _framework(
        "onnxruntime",
        "ONNX Runtime",
        14.75,
        (AS_PUBLISHED, "session.run for one sample at a time, in a Python loop over a thousand", ""),
        (FAIRLY, "session.run for the whole batch", "one call for the batch instead of a thousand"),
    ),
    _framework(
        "openvino",
        "OpenVINO",
        144.84,
        (AS_PUBLISHED, "infer_new_request for one sample at a time, in a Python loop over a thousand", ""),
        (
            "one request",
            "one request for all samples, still one at a time",
            "one request instead of a new one a sample",
        ),
        (
            FAIRLY,
            "one request for the whole batch, in float32",
            "one call for the batch instead of a thousand, in float32",
        ),
    ),
)
"""In the order of the published table."""


def path(framework: Framework) -> tuple[Form, ...]:
    """Return the forms that lead from the published one to the fair one, without those listed beside them."""
    return tuple(form for form in framework.forms if form.mends or form.name == AS_PUBLISHED)


def get(backend: str) -> Framework:
    """Return what the published comparison says of a framework."""
    return next(each for each in FRAMEWORKS if each.backend == backend)
