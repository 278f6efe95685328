"""ncnn: what Levelfield knows of it without importing it."""

from levelfield.backends.info import FP32, BackendInfo

NCNN = BackendInfo(
    name="ncnn",
    title="ncnn",
    class_name="NCNN",
    package="levelfield_ncnn",
    image="ncnn",
    reads="native",
    distribution="ncnn",
    imports=("ncnn",),
    ways={"cpu": {"fp32": FP32}},
    why_not={
        ("cpu", "bf16"): "ncnn stores bf16 and computes in fp32 on processors of x86, which is not offered here",
        ("cpu", "int8"): "ncnn quantises by tools of its own, which are not offered here",
    },
)
"""Networks in ncnn's own format, with the norms folded into convolutions.

References
----------
https://github.com/Tencent/ncnn/wiki/param-and-model-file-structure
https://github.com/Tencent/ncnn/wiki/operators
"""
