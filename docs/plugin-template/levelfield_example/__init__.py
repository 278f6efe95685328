"""What Levelfield knows of the backend `example` without importing its framework."""

from levelfield.backends.info import FP32, BackendInfo

EXAMPLE = BackendInfo(
    name="example",
    title="Example",
    class_name="Example",
    package="levelfield_example",
    image="example",
    reads="native",
    distribution="numpy",
    imports=("numpy",),
    ways={"cpu": {"fp32": FP32}},
)
