"""Post-training static quantisation of an exported file, by ONNX Runtime's own quantiser, from seeded inputs.

The file is in QDQ form: the fp32 graph with pairs of QuantizeLinear and DequantizeLinear around what is to be computed
in 8 bits, which ONNX Runtime and OpenVINO both read and fuse each in its way. Both are given the same file. Activations
are unsigned and asymmetric, weights signed with a scale for every output channel, ranges the least and largest values
seen: what ONNX Runtime's documentation recommends for x86 processors with VNNI.

See https://onnxruntime.ai/docs/performance/model-optimizations/quantization.html
"""

import logging
from pathlib import Path

from levelfield.zoo import inputs
from levelfield.zoo.spec import Model
from levelfield.zoo.weights import Arrays

CALIBRATION_START = 1 << 20
"""Index of the first calibration input: none of those that are verified or measured is among them."""
CALIBRATION_INPUTS = 32


def quantise(model: Model, source: Path, target: Path, batch: int) -> None:
    """Quantise an exported fp32 file. Raises ValueError: the model is not quantised."""
    if not model.quantized:
        raise ValueError(f"{model.title} is not quantised: leave out --precision int8.")
    from onnxruntime.quantization import (
        CalibrationDataReader,
        CalibrationMethod,
        QuantFormat,
        QuantType,
        quantize_static,
    )

    stop = CALIBRATION_START + CALIBRATION_INPUTS
    batches = (inputs.make(model, start, batch) for start in range(CALIBRATION_START, stop, batch))

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        """Gives the calibrator one batch after the other, then None."""

        def get_next(self) -> Arrays | None:
            return next(batches, None)

    quiet = logging.getLogger().level
    logging.getLogger().setLevel(logging.ERROR)  # it suggests its own preprocessing, which the export has done
    try:
        quantize_static(
            source,
            target,
            Reader(),
            quant_format=QuantFormat.QDQ,
            op_types_to_quantize=list(model.quantized),
            per_channel=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            calibrate_method=CalibrationMethod.MinMax,
        )
    finally:
        logging.getLogger().setLevel(quiet)
