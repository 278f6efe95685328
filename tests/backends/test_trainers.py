"""Which backends train; that they train as the reference does is tested in `tests/run/test_training_docker.py`."""

import importlib

from levelfield.backends import registry

TRAINING = tuple(name for name in registry.names() if registry.get(name).trains)
KERAS = tuple(name for name in registry.names_where_named() if registry.get(name).trains)


def test_frameworks_train_and_runtimes_do_not() -> None:
    assert TRAINING == ("torch", "torch-compile", "tensorflow", "tensorflow-xla", "jax")
    assert KERAS == ("keras-torch", "keras-jax", "keras-tensorflow")
    for name in (*registry.names(), *registry.names_where_named()):
        info = registry.get(name)
        kind = getattr(importlib.import_module(info.module), info.class_name)
        assert hasattr(kind, "load_training") == info.trains
