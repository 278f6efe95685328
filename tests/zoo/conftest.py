from functools import cache
from pathlib import Path

import pytest

from levelfield.zoo import models, onnx_export, weights
from tests.zoo.exported import BATCH, Exports


@pytest.fixture(scope="session")
def bert_weights() -> weights.Arrays:
    return weights.make(models.get("bert"))


@pytest.fixture(scope="session")
def resnet50_weights() -> weights.Arrays:
    return weights.make(models.get("resnet50"))


@pytest.fixture(scope="session")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Exports:
    @cache
    def export(name: str) -> tuple[Path, dict[str, str]]:
        folder, model = tmp_path_factory.mktemp(name), models.get(name)
        return folder, onnx_export.export(model, weights.make(model), BATCH, "fp32", folder).files

    return export
