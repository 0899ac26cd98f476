"""Photograph the report of the stored leaderboard, light and dark, and count its printed pages.

    python docs/report_picture.py [--browser chromium]

writes ``_static/report-light.png`` and ``_static/report-dark.png``, which the page on reports
shows, with the first part of the report at 1,400 pixels. It prints the number of A4 pages, which
must be at most six, and the width of the leaderboard's table in its box at three widths of the
window.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

import board_picture
from PIL import Image

HERE = Path(__file__).parent
WIDTH, HEIGHT = 1400, 1260
COLOURS = 64  # of the palette; the page has few
MOST_PAGES = 6
MEASURE = """<script>const table = document.querySelector("#leaderboard table");
document.body.dataset.widths = table.offsetWidth + " in " + table.parentElement.clientWidth;
</script></body>"""


def browse(browser: str, page: Path, *options: str) -> str:
    """Output of a headless browser that opens a page."""
    command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    done = subprocess.run(
        [*command, *options, page.as_uri()], check=True, capture_output=True, text=True
    )
    return done.stdout


def photograph(browser: str, page: Path, path: Path) -> None:
    """Write the first part of a page as a PNG file with few colours."""
    browse(browser, page, f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={path}")
    with Image.open(path) as image:
        image.convert("RGB").quantize(COLOURS).save(path, optimize=True)


def count_pages(browser: str, page: Path) -> int:
    """Number of pages that a browser prints."""
    path = page.with_suffix(".pdf")
    browse(browser, page, "--no-pdf-header-footer", f"--print-to-pdf={path}")
    return len(re.findall(rb"/Type */Page\b", path.read_bytes()))


def measure_table(browser: str, page: Path, width: int) -> str:
    """Widths of the leaderboard's table and of its box, in pixels."""
    measured = page.with_name("measured.html")
    measured.write_text(page.read_text("utf-8").replace("</body>", MEASURE), "utf-8")
    shown = browse(browser, measured, f"--window-size={width},1000", "--dump-dom")
    found = re.search(r'data-widths="([^"]*)"', shown)
    return found[1] if found else "not measured"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--browser", default="chromium")
    browser = parser.parse_args().browser
    with tempfile.TemporaryDirectory() as folder:
        board_picture.write(Path(folder))
        page = Path(folder) / "lambdarank.html"
        photograph(browser, page, HERE / "_static" / "report-light.png")
        dark = page.with_name("dark.html")
        text = page.read_text("utf-8").replace("screen and (prefers-color-scheme: dark)", "all")
        dark.write_text(text.replace("color-scheme: light dark", "color-scheme: dark"), "utf-8")
        photograph(browser, dark, HERE / "_static" / "report-dark.png")
        n_pages = count_pages(browser, page)
        print(f"printed pages: {n_pages} (at most {MOST_PAGES})")
        for width in (1400, 1000, 390):
            print(f"table at {width} pixels: {measure_table(browser, page, width)}")
    if n_pages > MOST_PAGES:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
