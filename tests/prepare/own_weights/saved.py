"""Folders as save_pretrained writes them, made by hand."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from levelfield.zoo import bits, models
from levelfield.zoo.spec import Model

Tensors = Mapping[str, npt.NDArray[Any]]
DTYPES = {"float32": "F32", "float16": "F16", "uint16": "BF16", "int64": "I64", "float64": "F64"}
"""Of bfloat16, NumPy has the bits alone."""


def safetensors(tensors: Tensors, *, metadata: Mapping[str, str] = {"format": "pt"}) -> bytes:
    """Return a file of tensors."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    parts: list[bytes] = []
    at = 0
    for name, array in tensors.items():
        raw = np.ascontiguousarray(array).tobytes()
        header[name] = {
            "dtype": DTYPES[str(array.dtype)],
            "shape": list(array.shape),
            "data_offsets": [at, at + len(raw)],
        }
        at += len(raw)
        parts.append(raw)
    return framed(json.dumps(header).encode(), b"".join(parts))


def framed(header: bytes, buffer: bytes = b"") -> bytes:
    """Return a file with this header."""
    return len(header).to_bytes(8, "little") + header + buffer


def random_tensors(model: Model, seed: str = "saved") -> dict[str, npt.NDArray[np.float32]]:
    """Return healthy weights for a network, by our names."""
    return {
        each.name: bits.scaled(f"{seed}/{each.name}", each.shape, mean=each.mean, std=each.std)
        for each in model.parameters
    }


def folder(path: Path, config: Mapping[str, Any], tensors: Tensors, *, shards: int = 1) -> Path:
    """Write a folder, its tensors in one file or dealt out to several."""
    path.mkdir(parents=True)
    (path / "config.json").write_text(json.dumps(config))
    if shards == 1:
        (path / "model.safetensors").write_bytes(safetensors(tensors))
        return path
    names = [f"model-{number + 1:05}-of-{shards:05}.safetensors" for number in range(shards)]
    placed = {name: names[index % shards] for index, name in enumerate(tensors)}
    pairs = list(tensors.items())
    for number, shard in enumerate(names):
        (path / shard).write_bytes(safetensors(dict(pairs[number::shards])))
    index = {"metadata": {"total_size": sum(each.nbytes for each in tensors.values())}, "weight_map": placed}
    (path / "model.safetensors.index.json").write_text(json.dumps(index))
    return path


BERT = {
    "model_type": "bert", "architectures": ["BertModel"], "vocab_size": 120, "hidden_size": 64,
    "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96, "hidden_act": "gelu",
    "max_position_embeddings": 48, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
}  # fmt: skip


def bert(path: Path, *, shards: int = 1, **changed: Any) -> Path:
    """Write a small BERT, as `BertModel` saves itself."""
    config = BERT | changed
    name = f"bert-00000000+layers={config['num_hidden_layers']}+hidden=64+heads=4+inner=96+vocabulary=120+positions=48"
    return folder(path, config, random_tensors(models.get(name)), shards=shards)


TINY = BERT | {
    "vocab_size": 8, "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 4,
    "max_position_embeddings": 16,
}  # fmt: skip


def tiny_tensors() -> dict[str, npt.NDArray[np.float32]]:
    """Return tensors of a BERT of the smallest sizes, as `TINY` describes it."""
    sizes = "+layers=1+hidden=4+heads=2+inner=4+vocabulary=8+positions=16"
    return random_tensors(models.get(f"bert-00000000{sizes}"))


def classifier(path: Path, classes: int, *, lift: float = 0.0) -> Path:
    """Write a small BERT with a classifier, as `BertForSequenceClassification` saves itself; `lift` favours class 1."""
    sizes = f"+layers=2+hidden=64+heads=4+inner=96+vocabulary=120+positions=48+classes={classes}"
    tensors = random_tensors(models.get(f"berthead-00000000{sizes}"))
    # So small a network answers alike to everything unless its matrices are larger.
    tensors = {
        name: array * np.float32(1 if name.startswith("embeddings.") or array.ndim == 1 else 8)
        for name, array in tensors.items()
    }
    tensors["classifier.bias"] = np.eye(classes, dtype=np.float32)[1] * np.float32(lift)
    named = {name if name.startswith("classifier") else f"bert.{name}": array for name, array in tensors.items()}
    return folder(path, BERT | {"architectures": ["BertForSequenceClassification"]}, named)
