"""Draws the pictures of the playground: ``python -m benchmarks.playground.picture``."""

import io
import shutil

from benchmarks.playground.server import ROOT, running
from PIL import Image
from playwright.sync_api import sync_playwright

FOLDER = ROOT / "docs" / "_static"
#: Page and height of each picture.
PICTURES = {"playground.png": ("points", 1090), "playground_laws.png": ("#example", 900)}
WIDTH = 1280


def main() -> None:
    """Open the pages, choose the first broken cell, and write what the browser shows."""
    with running() as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name, (path, height) in PICTURES.items():
            size = {"width": WIDTH, "height": height}
            page = browser.new_page(viewport=size, color_scheme="light")
            page.goto(f"{server.url}{path}")
            page.wait_for_selector("html[data-settled]")
            for finding in page.locator("#findings button").all()[:1]:
                finding.click()  # which brings the broken cell into sight
            shown = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            shown.save(FOLDER / name, optimize=True)
            print(f"{name}: {(FOLDER / name).stat().st_size // 1000} kB")
        browser.close()


if __name__ == "__main__":
    main()
