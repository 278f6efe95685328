"""How models are trained, and what is said of it."""

import pytest

from levelfield.zoo import models
from levelfield.zoo.training import recipe


@pytest.mark.parametrize("name", models.trained())
def test_every_hyper_parameter_is_said(name: str) -> None:
    rule = models.recipe(name)
    text = recipe.describe(rule)
    assert rule.loss in text
    assert f"{rule.optimizer.learning_rate:g}" in text


def test_what_is_not_trained_has_no_recipe() -> None:
    with pytest.raises(ValueError, match=r"no recipe to train 'canary'; there are mlp, resnet50, bert\."):
        models.recipe("canary")


def test_statistics_are_followed_and_not_trained() -> None:
    model = models.get("resnet50")
    trained, followed = model.trained, model.statistics
    assert len(trained) + len(followed) == len(model.parameters)
    assert all(each.is_statistic for each in followed)
    assert len(followed) == 2 * 53
