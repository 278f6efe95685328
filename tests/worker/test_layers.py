"""Digests of layers; what frameworks show is tested through real workers (`tests/cli/test_layers.py`)."""

import hashlib

import msgspec
import numpy as np
import pytest

from suite.backends.canary import Canary
from suite.backends.protocol import Options, Unsupported
from suite.worker import layers
from suite.worker.layers import Digests, compute
from tests.worker.conversation import CANARY


def test_outputs_of_all_batches_make_one_digest_a_layer_in_the_order_of_computation() -> None:
    digests, array = Digests(), np.arange(6, dtype=np.float32).reshape(2, 3)
    for batch in (array, array + 1):
        digests.begin()
        digests.see("second", batch.T)
        digests.see("first", batch)
        digests.see("first", batch + 1)
    second, first, again = digests.layers()
    assert (second.name, first.name, again.name) == ("second", "first", "first#2")
    assert first.sha256 == hashlib.sha256(array.tobytes() + (array + 1).tobytes()).hexdigest()
    assert second.sha256 == hashlib.sha256(array.T.tobytes() + (array + 1).T.tobytes()).hexdigest()


def test_there_is_a_bound_on_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "MOST_LAYERS", 1)
    digests = Digests()
    digests.see("one", np.zeros(1))
    with pytest.raises(Unsupported, match="more than 1 layers"):
        digests.see("two", np.zeros(1))


def test_a_backend_without_layers_says_so() -> None:
    with pytest.raises(Unsupported, match="canary cannot show what its layers put out"):
        compute(CANARY, Canary(Options(threads=1)), 1)


@pytest.mark.parametrize("changes", [{"scenario": "training"}, {"device": "cuda"}])
def test_only_inference_on_the_cpu_is_seen(changes: dict[str, str]) -> None:
    class Shows(Canary):
        layers_how = "not asked"

        def load_layers(self, _source: object) -> None:
            raise AssertionError("It is not asked.")

    with pytest.raises(Unsupported, match="on the CPU only"):
        compute(msgspec.structs.replace(CANARY, **changes), Shows(Options(threads=1)), 1)
