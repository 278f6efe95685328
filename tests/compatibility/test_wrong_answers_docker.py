"""Each row of known wrong answers: its minimal case is wrong in the locked version that has it, and right elsewhere."""

import base64

import docker
import pytest

from levelfield.compatibility import gate
from levelfield.images import build, catalogue
from tests.prepare.own_model import onnx_files

JAX = """
import jax, jax.numpy as jnp
i = jnp.arange(32_769, dtype=jnp.float32)
x = jnp.stack((i, jnp.zeros_like(i), jnp.zeros_like(i)), axis=1)
f = lambda x: jax.vmap(lambda row: jnp.sum((jnp.eye(3) @ row) ** 2))(x)
print(float(jax.jit(f)(x)[-1]) == 32_768.0 ** 2)
"""
TENSORFLOW = """
import tensorflow as tf
def f(b):
    p = tf.multiply(b, b)
    return tf.where(p < 0, tf.abs(p), p)
found = tf.function(f, jit_compile={xla})(tf.constant([12, 7, 20, 15, 11], dtype=tf.int8))
print(found.numpy().tolist() == [112, 49, 112, 31, 121])
"""
ONNXRUNTIME = f"""
import base64, numpy as np, onnxruntime
session = onnxruntime.InferenceSession(base64.b64decode("{base64.b64encode(onnx_files.average_pool()).decode()}"))
(found,) = session.run(None, {{"x": np.ones((1, 1, 2, 2), np.float32)}})
print(found.ravel().tolist() == [1.0, 0.5, 0.5, 0.25])
"""
CASES = {
    "jax-ml/jax 39103": (("jax", "0.10.2", JAX, False), ("jax", None, JAX, True)),
    "tensorflow/tensorflow 118178": (
        ("tensorflow", None, TENSORFLOW.format(xla=True), False),
        ("tensorflow", None, TENSORFLOW.format(xla=False), True),
    ),
    "microsoft/onnxruntime 26708": (
        ("onnxruntime", "1.22.1", ONNXRUNTIME, False),
        ("onnxruntime", "1.26.0", ONNXRUNTIME, True),
        ("onnxruntime", None, ONNXRUNTIME, True),
    ),
}
ROWS = {row.issue: row for row in gate.read().wrong_answer}


def test_every_row_has_a_case_in_a_locked_version_within_it_and_a_right_one() -> None:
    assert ROWS.keys() == CASES.keys()
    for issue, cases in CASES.items():
        for image, version, _, right in cases:
            held = catalogue.lock(image, "cpu", version).versions
            inside = any(ROWS[issue].contains(held.get(name)) for name in ROWS[issue].distributions)
            assert inside or right, issue
        assert {right for *_, right in cases} == {False, True}


@pytest.mark.extended
@pytest.mark.docker
@pytest.mark.parametrize(("image", "version", "script", "right"), [case for cases in CASES.values() for case in cases])
def test_its_case_is_wrong_there_and_right_elsewhere(
    engine: docker.DockerClient, image: str, version: str | None, script: str, right: bool
) -> None:
    tag = build.build(image, "cpu", version).tag
    said = engine.containers.run(
        tag, ["-c", script], entrypoint=["/opt/levelfield/env/bin/python"], network_mode="none", remove=True
    )
    assert said.decode().splitlines()[-1] == str(right)
