"""A little ONNX file, written field by field."""

from collections.abc import Mapping

from suite.backends.protobuf import number, text


def model(initializers: Mapping[str, bytes]) -> bytes:
    """Two nodes, `x → Relu → y → Neg → z`, of which z is the output, and these tensors."""
    relu = text(1, text(1, b"x") + text(2, b"y") + text(4, b"Relu"))
    neg = text(1, text(1, b"y") + text(2, b"z") + text(4, b"Neg"))
    tensors = b"".join(
        text(5, number(2, 1) + text(8, name.encode()) + text(9, raw)) for name, raw in initializers.items()
    )
    return number(1, 10) + text(7, relu + neg + tensors + text(12, text(1, b"z")))
