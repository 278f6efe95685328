"""Pictures of pages, for the README: of published records, as this version renders them."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from levelfield import analysis
from levelfield.record import files
from levelfield.report import html

HERE = Path(__file__).parents[2]
REPORTS = HERE / "reports"
TIMEOUT_S = 120
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_SWITCHES = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run")


class Picture(msgspec.Struct, frozen=True):
    """The top of one page."""

    file: str
    """In the folder of reports."""
    run: str
    """Id of a published run."""
    width: int
    """Of the window, in pixels."""
    height: int


PICTURES = (Picture("example.png", "20261128-111231-standard-8c85", 1200, 1180),)


def take(picture: Picture, folder: Path) -> Path:
    """Write a picture in a folder, and return its path.

    Raises
    ------
    FileNotFoundError
        There is no Chromium.
    subprocess.SubprocessError
        The browser did not end well, or not in time.
    """
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise FileNotFoundError("There is no Chromium here. Install chromium.")
    run = files.read(REPORTS / picture.run)
    file = folder / picture.file
    with tempfile.TemporaryDirectory() as within:
        page = Path(within) / "report.html"
        page.write_text(html.render(run, analysis.analyse(run)), encoding="utf-8")
        size = f"--window-size={picture.width},{picture.height}"
        options = (f"--user-data-dir={within}/profile", size, f"--screenshot={file}")
        subprocess.run(
            [browser, *_SWITCHES, *options, page.as_uri()], check=True, capture_output=True, timeout=TIMEOUT_S
        )
    return file


if __name__ == "__main__":
    try:
        for each in PICTURES:
            print(take(each, REPORTS).relative_to(HERE))
    except (FileNotFoundError, subprocess.SubprocessError) as error:
        sys.exit(str(error))
