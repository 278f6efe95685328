"""What engines and registries say, as they said it, and what to do about it."""

import itertools

import pytest

from levelfield.images import registries
from levelfield.images.registries import refused

LISTING = """\
:env:.find-links='/wheels'
download.timeout='60'
global.cert='/etc/ca.pem'
global.extra-index-url='https://a/simple https://b/simple'
global.find-links='/other'
global.index-url='https://name:pass@mirror/simple'
global.proxy='http://proxy:3128'
install.index-url='https://not-for-downloads/simple'
"""


def test_pip_settings_reach_uv_and_the_environment_wins() -> None:
    found = registries._parse(LISTING)
    assert found.index_url == "https://name:pass@mirror/simple"
    assert found.extra_index_urls == ("https://a/simple", "https://b/simple")
    assert found.find_links == ("/wheels",)
    assert found.environment["SSL_CERT_FILE"] == "/etc/ca.pem"
    assert found.environment["HTTPS_PROXY"] == "http://proxy:3128"
    arguments = registries.uv_arguments(found)
    assert arguments[:2] == ["--default-index", "https://name:pass@mirror/simple"]
    asked = [url for option, url in itertools.pairwise(arguments) if option == "--index"]
    assert asked == [found.index_url, *found.extra_index_urls], "no extra index hides what the default one has"
    assert registries.uv_arguments(found, only_default=True) == arguments[:2]


def test_no_settings_are_no_arguments_but_the_strategy() -> None:
    assert registries.uv_arguments(registries._parse("")) == ["--index-strategy", "unsafe-best-match"]


def test_the_real_pip_can_be_asked() -> None:
    assert registries.settings().environment["UV_PYTHON_DOWNLOADS"] == "never"


def test_addresses_do_not_reach_people() -> None:
    text = registries.without_addresses("Looking in https://user:secret@mirror/simple, giving up")
    assert text == "Looking in (an index) giving up"


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
