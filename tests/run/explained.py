"""What a worker might say of a model with three operators."""

from levelfield.backends.profiling.operators import Operator
from levelfield.record.schema import Image
from levelfield.run.explain import Explained
from levelfield.worker.messages import Profiled

ID = "onnxruntime/mlp/latency/fp32/b1/t1/cpu"


def profiled(*operators: Operator) -> Profiled:
    return Profiled(
        source="ONNX Runtime's profiling",
        operators=operators
        or (
            Operator("Conv", "stem", 4, 6_000_000.0),
            Operator("Conv", "head", 4, 3_000_000.0),
            Operator("Relu", "relu", 8, 1_000_000.0),
        ),
        plain_ns=(9_000_000, 10_000_000, 30_000_000),
        profiled_ns=(12_000_000, 13_000_000, 13_000_000, 40_000_000),
        note="Times are whole microseconds.",
    )


def explained(*operators: Operator, name: str = ID) -> Explained:
    image = Image(name="onnxruntime", variant="cpu", launcher="venv", tag="venv:onnxruntime", python="3.11.2")
    return Explained(name, "1.31.1", image, profiled(*operators))
