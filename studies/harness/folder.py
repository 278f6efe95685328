"""Writes a model of the zoo as the folder that the transformers library loads: `config.json` and `model.safetensors`.

The file of tensors is written as its format is documented: eight bytes with the length of the header (little endian),
the header (JSON: type, shape and place of each tensor), and the tensors one after the other.

References
----------
https://huggingface.co/docs/safetensors/index#format
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.errors import LevelfieldError
from levelfield.zoo import models, weights
from levelfield.zoo.bert import spec as bert

CONFIG, TENSORS = "config.json", "model.safetensors"
ALIGNMENT_BYTES = 8
"""Of the header's length: spaces fill it."""


def write(model: str, folder: Path) -> None:
    """Write both files."""
    if model != "bert":
        raise LevelfieldError(f"{model} cannot be written as a folder of transformers.", fix="Ask for bert.")
    (folder / CONFIG).write_bytes(msgspec.json.format(msgspec.json.encode(config()), indent=2) + b"\n")
    found = models.get(model)
    write_tensors(weights.make(found), folder / TENSORS)


def config() -> dict[str, object]:
    """Return the configuration of BERT-base, as transformers' `BertConfig` names its fields."""
    return {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "dtype": "float32",
        "vocab_size": bert.VOCABULARY,
        "hidden_size": bert.HIDDEN,
        "num_hidden_layers": bert.LAYERS,
        "num_attention_heads": bert.HEADS,
        "intermediate_size": bert.INNER,
        "hidden_act": "gelu",
        "max_position_embeddings": bert.POSITIONS,
        "type_vocab_size": bert.TYPES,
        "layer_norm_eps": bert.EPSILON,
        "pad_token_id": bert.PAD,
    }


def write_tensors(arrays: Mapping[str, npt.NDArray[np.generic]], path: Path) -> None:
    """Write arrays as a safetensors file."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, array in arrays.items():
        begin, end = end, end + array.nbytes
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": (begin, end)}
    text = msgspec.json.encode(header)
    text += b" " * (-len(text) % ALIGNMENT_BYTES)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array, dtype="<f4").data)
