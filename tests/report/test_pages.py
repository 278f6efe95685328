"""What all pages have in common: texts are escaped, and a policy that lets nothing run but what is our own."""

import base64
import hashlib
import re
from pathlib import Path

import jinja2
import pytest

from levelfield.analysis import analyse
from levelfield.report import html, pages
from tests.records_builder import make_run


def sha256_base64(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_every_text_is_escaped_and_a_mistyped_name_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<p title='{{ name }}'>{{ name }}</p>")
    (tmp_path / "wrong.html").write_text("<p>{{ nmae }}</p>")
    environment = pages.templates(tmp_path)
    made = environment.get_template("page.html").render(name="<b onclick='x'>&")
    assert made == "<p title='&lt;b onclick=&#39;x&#39;&gt;&amp;'>&lt;b onclick=&#39;x&#39;&gt;&amp;</p>"
    with pytest.raises(jinja2.UndefinedError, match="nmae"):
        environment.get_template("wrong.html").render(name="x")


def test_a_template_s_own_lines_leave_no_blank_ones(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("a\n  {% if true %}\nb\n  {% endif %}\nc\n")
    assert pages.templates(tmp_path).get_template("page.html").render() == "a\nb\nc"


def test_a_style_sheet_begins_with_what_all_pages_have(tmp_path: Path) -> None:
    (tmp_path / "own.css").write_text(".own { color: red }")
    plain, further = pages.style(), pages.style(tmp_path / "own.css")
    assert further == f"{plain}\n.own {{ color: red }}"
    assert (pages.TEMPLATES / "page.css").read_text(encoding="utf-8") in plain
    assert "--b-onnxruntime:" in plain


def test_a_policy_names_the_texts_by_their_hashes_and_forbids_all_else() -> None:
    given = pages.policy("h1{}", script="run()")
    rules = dict(rule.strip().split(" ", 1) for rule in given.split(";"))
    assert rules == {
        "default-src": "'none'",
        "style-src": f"'sha256-{sha256_base64('h1{}')}'",
        "script-src": f"'sha256-{sha256_base64('run()')}'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert "unsafe" not in given


def test_a_page_without_a_script_lets_none_run() -> None:
    assert "script-src" not in pages.policy("h1{}")
    assert pages.policy("h1{}", images="'self'").count("img-src 'self'") == 1


def test_the_report_s_policy_is_of_its_own_style_and_script() -> None:
    run = make_run(models=("mlp",), backends=("jax",), scenarios=("latency",), rounds=2, max_calls=9)
    page = html.render(run, analyse(run))
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert pages.policy(style, script=pages.script()).replace("'", "&#39;") in page
