"""How long the page takes to follow a slider, measured in the browser.

A move is timed from the event of the slider to the frame that shows both new pictures: the request,
the fits, the answer, the grids, the painting.
"""

import shutil
from typing import Any

import numpy as np

#: 400 points in each set, degree 4: more than the target asks for.
PAGE = "points#x=lissajous&y=uniform&n=400&d=4&e=0.02&t=0.1&ct=0.3"
MOVE = """
(value) => new Promise((resolve) => {
  const slider = document.getElementById("tol");
  const start = performance.now();
  document.addEventListener("settled", () => {
    // The callback of a frame comes before it is painted, a task that it posts afterwards.
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => resolve(performance.now() - start);
      port2.postMessage(null);
    });
  }, { once: true });
  slider.value = value;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
})
"""


def redraw_milliseconds(url: str, *, moves: int = 40) -> list[float]:
    """Move the tolerance up and down; return the time of each redraw.

    Parameters
    ----------
    url : str
    moves : int
    """
    from playwright.sync_api import sync_playwright

    positions = -2.0 + 2.0 * np.abs(np.linspace(-1, 1, moves))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1360, "height": 900})
        page.goto(url + PAGE)
        page.wait_for_selector("html[data-settled]")
        for position in positions[:5]:  # the first moves compile the code
            page.evaluate(MOVE, float(position))
        times = [float(page.evaluate(MOVE, float(position))) for position in positions]
        browser.close()
    return times


def summary(times: list[float]) -> dict[str, Any]:
    """Return the figures that are reported."""
    return {
        "moves": len(times),
        "median_ms": round(float(np.median(times)), 1),
        "p95_ms": round(float(np.quantile(times, 0.95)), 1),
        "slowest_ms": round(max(times), 1),
    }
