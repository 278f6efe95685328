import pytest

from levelfield.zoo import models, weights


@pytest.fixture(scope="session")
def bert_weights() -> weights.Arrays:
    return weights.make(models.get("bert"))


@pytest.fixture(scope="session")
def resnet50_weights() -> weights.Arrays:
    return weights.make(models.get("resnet50"))
