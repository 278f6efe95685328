"""The published comparison, framework by framework: its figures, how it ran each, and what had to be mended.

Source: "Deep Learning GPU Benchmarks" (Data Science Blogathon, Analytics Vidhya, January 2025), and the script in the
repository analystanand/benchmarks that it rests on: a thousand samples of 200 features, mean time of a thousand runs.
"""

import msgspec

from studies.published_comparison.record import Form

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
