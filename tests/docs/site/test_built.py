"""The site as it is built and read: strictly, from files, with search, and without a request."""

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import browsers
from tests.commands import ROOT

if TYPE_CHECKING:
    from selenium import webdriver

PATIENCE_S = 30.0


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
    deadline = time.monotonic() + PATIENCE_S
    while not re.match(r"\d+ matching", browser.find_element("css selector", ".md-search-result__meta").text):
        assert time.monotonic() < deadline, "nothing is found"
        time.sleep(0.1)
    assert not [address for address in browsers.requests(browser) if not address.startswith(("file:", "data:"))]
