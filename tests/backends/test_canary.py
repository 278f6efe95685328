import numpy as np
import pytest

from levelfield.backends import registry
from levelfield.backends.protocol import Options, Source, Unsupported
from levelfield.zoo import inputs, models, parity, reference, weights

MODEL = models.get("canary")


def _source(batch: int) -> Source:
    return Source(model="canary", batch=batch, weights=weights.make(MODEL), example=inputs.make(MODEL, 0, batch))


def test_it_equals_its_reference() -> None:
    source = _source(2)
    canary = registry.create("canary", Options(threads=1))
    output = canary.load(source)(source.example)
    assert output.dtype == np.float32
    judgement = parity.judge(output, reference.run(MODEL, source.weights, source.example))
    assert judgement.equal, judgement


def test_it_runs_nothing_else() -> None:
    source = Source(model="mlp", batch=1, weights={}, example={})
    with pytest.raises(Unsupported, match="its own model only, not mlp"):
        registry.create("canary", Options(threads=1)).load(source)
