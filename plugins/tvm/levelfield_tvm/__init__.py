"""Apache TVM: what Levelfield knows of it without importing it."""

from levelfield.backends.info import FP32, BackendInfo

TVM = BackendInfo(
    name="tvm",
    title="Apache TVM",
    class_name="TVM",
    package="levelfield_tvm",
    image="tvm",
    reads="onnx",
    distribution="apache-tvm",
    imports=("tvm", "onnx"),
    ways={"cpu": {"fp32": FP32}},
    why_not={
        ("cpu", "bf16"): "TVM's ONNX frontend takes tensors as the file has them, and the files have no bf16",
        ("cpu", "int8"): "quantised files are not compiled here",
    },
)
