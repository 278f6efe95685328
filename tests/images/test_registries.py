"""What engines and registries say, as they said it, and what to do about it."""

import ast
import itertools
from pathlib import Path

import pytest

from levelfield.images import registries
from tests.commands import ROOT

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
    assert (found.find_links, found.environment["SSL_CERT_FILE"]) == (("/wheels",), "/etc/ca.pem")
    assert found.environment["HTTPS_PROXY"] == "http://proxy:3128"
    arguments = registries.uv_arguments(found)
    assert arguments[:2] == ["--default-index", "https://name:pass@mirror/simple"]
    asked = [url for option, url in itertools.pairwise(arguments) if option == "--index"]
    assert asked == [found.index_url, *found.extra_index_urls], "no extra index hides what the default one has"
    assert registries.uv_arguments(found, only_default=True) == arguments[:2]


def test_the_real_pip_can_be_asked() -> None:
    assert registries.settings().environment["UV_PYTHON_DOWNLOADS"] == "never"


def test_no_module_of_the_current_folder_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pip.py").write_text("open('ran', 'w')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    registries.settings()
    assert [each.name for each in tmp_path.iterdir()] == ["pip.py"]


def test_every_python_that_is_started_leaves_the_current_folder_out() -> None:
    paths = [path for top in ("suite", "plugins") for path in (ROOT / top).rglob("*.py") if "tests" not in path.parts]
    started = 0
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.List | ast.Tuple):
                words = [ast.unparse(each) for each in node.elts]
                for first, second in itertools.pairwise(words):
                    assert first in {"'-P'", "'-S'", "'-I'"} or second not in {"'-m'", "'-c'"} or "sh'" in first, path
                    started += second in {"'-m'", "'-c'"}
    assert started >= 8


def test_addresses_do_not_reach_people() -> None:
    text = registries.without_addresses("Looking in https://user:secret@mirror/simple, giving up")
    assert text == "Looking in (an index) giving up"
