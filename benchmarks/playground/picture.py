"""Draws the picture of the playground: ``python -m benchmarks.playground.picture``."""

import io
import shutil

from benchmarks.playground.server import ROOT, running
from PIL import Image
from playwright.sync_api import sync_playwright

PICTURE = ROOT / "docs" / "_static" / "playground.png"
SIZE = {"width": 1280, "height": 1010}


def main() -> None:
    """Open the page as a newcomer sees it, and write what the browser shows."""
    with running() as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(server.url)
        page.wait_for_selector("html[data-settled]")
        shown = page.screenshot()
        browser.close()
    Image.open(io.BytesIO(shown)).convert("RGB").save(PICTURE, optimize=True)
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
