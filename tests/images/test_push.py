"""What `push` refuses before it asks a registry."""

import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import engine
from levelfield.images.push import push
from levelfield.record.references import parse


@pytest.mark.parametrize("address", ["https://localhost:5000/x", "localhost:5000/x:latest", "\x1b[2J", "-x"])
def test_an_address_is_a_host_and_a_folder(address: str) -> None:
    with pytest.raises(LevelfieldError, match=r"is no address of a container registry.*without https://"):
        push([parse("canary")], address)


def test_images_whose_licences_restrict_it_are_named_with_what_they_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    names = [parse(name) for name in ("canary", "torch@cu12", "onnxruntime@cu13")]
    with pytest.raises(LevelfieldError) as refused:
        push(names, "localhost:5000/levelfield")
    assert refused.value.message.startswith(
        "torch cu12, onnxruntime cu13 may not be published at will: the licences of"
    )
    assert "cuda-bindings" in refused.value.message
    assert "--i-may-redistribute" in refused.value.fix
    with pytest.raises(LevelfieldError, match="No container engine answers"):
        push(names, "localhost:5000/levelfield", may_redistribute=True)


@pytest.mark.docker
def test_an_image_that_is_not_built_is_not_built_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "find", lambda *_: None)
    with pytest.raises(LevelfieldError, match=r"The image canary is not built.*Run `levelfield images build canary`"):
        push([parse("canary")], "127.0.0.1:9/levelfield")


@pytest.mark.docker
def test_a_registry_that_does_not_answer(canary: object) -> None:
    del canary
    with pytest.raises(LevelfieldError, match=r"The registry 127\.0\.0\.1:9/levelfield cannot be used: .*refused"):
        push([parse("canary")], "127.0.0.1:9/levelfield")
    with engine.connect() as client:
        left = [tag for image in client.images.list() for tag in image.tags if tag.startswith("127.0.0.1:9/")]
    assert not left
