"""Apache MXNet: what Levelfield knows of it without importing it."""

from levelfield.backends.info import FP32, BackendInfo

MXNET = BackendInfo(
    name="mxnet",
    title="Apache MXNet",
    class_name="MXNet",
    package="levelfield_mxnet",
    image="mxnet",
    reads="native",
    distribution="mxnet",
    imports=("mxnet",),
    ways={"cpu": {"fp32": FP32}},
    why_not={
        ("cpu", "bf16"): "MXNet casts to bf16 by its AMP module, which is not offered here",
        ("cpu", "int8"): "MXNet quantises by its own rules, which are not offered here",
    },
)
