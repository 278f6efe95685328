"""What engines and registries say, as they said it, and what to do about it."""

import pytest

from levelfield.images.registry_answers import refused


@pytest.mark.parametrize(
    ("said", "sentence", "fix"),
    [
        ("no basic auth credentials", "does not let the container engine in", "docker login host:5000"),
        ("unauthorized: authentication required", "does not let the container engine in", "docker login host:5000"),
        ("denied: requested access to the resource is denied", "does not let the container engine in", "docker login"),
        (
            'Get "https://host:5000/v2/": http: server gave HTTP response to HTTPS client',
            "does not trust the registry",
            "daemon.json",
        ),
        ('Get "http://host:5000/v2/": dial tcp: connect: connection refused', "cannot be used", "Check the address"),
        ("manifest for host:5000/x@sha256:0 not found: manifest unknown: manifest unknown", "has no", "push the image"),
        ("line one\nline two", "line one line two", "Check the address"),
    ],
)
def test_each_has_its_sentence(said: str, sentence: str, fix: str) -> None:
    error = refused("host:5000/x", said)
    assert sentence in error.message
    assert "host:5000/x" in error.message
    assert fix in error.fix
    assert "\n" not in error.message
