"""The site as it is built and read: strictly, from files, with search, and without a request."""

import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import browsers
from tests.commands import ROOT, eventually

if TYPE_CHECKING:
    from selenium import webdriver


@pytest.mark.browser
@pytest.mark.extended
def test_the_site_is_built_strictly_and_searches_without_a_server(browser: "webdriver.Chrome", tmp_path: Path) -> None:
    site = tmp_path / "site"
    session = [sys.executable, "-m", "nox", "-f", str(ROOT / "noxfile.py"), "-s", "docs", "--", "--site-dir", str(site)]
    done = subprocess.run(session, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    browsers.show(browser, site / "index.html")
    browser.execute_script("document.querySelector('label[for=__search]').click()")
    browser.find_element("css selector", "input[name=query]").send_keys("disturbed rounds")
    found = partial(browser.find_element, "css selector", ".md-search-result__meta")
    assert eventually(lambda: re.match(r"\d+ matching", found().text) is not None)
    assert not [address for address in browsers.requests(browser) if not address.startswith(("file:", "data:"))]
