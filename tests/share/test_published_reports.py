"""Every published report is what this version makes of its record: its reader has no other version at hand."""

from pathlib import Path

import pytest
from selenium import webdriver

from levelfield.share.site import publish
from tests.axe import violations
from tests.browsers import log, open_details, requests, show
from tests.commands import ROOT, call

PUBLISHED = sorted(path.parent for path in (ROOT / "reports").glob("*/report.html"))


@pytest.mark.extended
@pytest.mark.parametrize("folder", PUBLISHED, ids=lambda folder: folder.name)
def test_a_published_report_verifies(folder: Path, tmp_path: Path) -> None:
    """Where a page changed, `nox -s pages` renders them anew."""
    found = call("verify", folder, folder=tmp_path)
    assert found.code == 0, found.out


@pytest.mark.extended
@pytest.mark.browser
def test_their_site_is_small_silent_and_accessible(browser: webdriver.Chrome, tmp_path: Path) -> None:
    site = tmp_path / "site"
    published = publish(PUBLISHED, site, print)
    assert (published.runs, published.skipped) == (len(PUBLISHED), ())
    assert sum(file.stat().st_size for file in site.rglob("*") if file.is_file()) <= 30e6
    for page in (site / "index.html", *sorted(site.glob("trends/*.html"))):
        for width, scheme in ((1280, "light"), (390, "dark")):
            show(browser, page, width=width, scheme=scheme)
            open_details(browser)
            assert log(browser, "browser") == []
            assert [address for address in requests(browser) if not address.startswith("data:")] == [page.as_uri()]
            assert violations(browser) == [], (page, width)
            assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth"), (page, width)
