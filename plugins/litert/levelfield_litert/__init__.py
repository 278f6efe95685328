"""LiteRT: what Levelfield knows of it without importing it."""

from levelfield.backends.info import FP32, BackendInfo, FileFormat, Way

TFLITE = FileFormat(
    name="tflite",
    title="TFLite",
    image="litert-exporter",
    module="levelfield_litert.export",
    file="model.tflite",
    imports=("tensorflow",),
)

LITERT = BackendInfo(
    name="litert",
    title="LiteRT",
    class_name="LiteRT",
    package="levelfield_litert",
    image="litert",
    reads="tflite",
    format=TFLITE,
    distribution="ai-edge-litert",
    imports=("ai_edge_litert",),
    layout="NHWC",
    ways={
        "cpu": {
            "fp32": FP32,
            "int8": Way(
                "post-training quantisation by TensorFlow's converter, 8-bit products and convolutions", file="int8"
            ),
        }
    },
    why_not={("cpu", "bf16"): "LiteRT has no kernels for bf16 on CPUs"},
    settings={"xnnpack": ("on", "off")},
)
