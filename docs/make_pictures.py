"""Make the pictures of docs/plots.md and docs/report.md; run from the root of the repository.

The picture of the report needs Playwright and Chromium, and is left as it is without them.
"""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from vanishing import VanishingDetector, VanishingIdeal
from vanishing.app.report import write_report
from vanishing.datasets import make_variety
from vanishing.plotting import BasisDisplay, SpectrumDisplay, ZeroSetDisplay

OUTPUT = Path(__file__).parent / "_static"


def save(display, name, dpi=100):
    """Write a small PNG, the same every time."""
    path = OUTPUT / f"{name}.png"
    display.figure_.savefig(path, dpi=dpi, metadata={"Software": None})
    plt.close(display.figure_)


def plane():
    X = make_variety("lemniscate", 150, noise=0.01)
    Y = np.random.default_rng(0).uniform([-1.3, -0.7], [1.3, 0.7], size=(150, 2))
    ideal = VanishingIdeal(max_degree=4, tol=0.02, normalization="contrastive")
    ideal.fit(X, contrast=Y)
    save(ZeroSetDisplay.from_estimator(ideal, X, contrast=Y, sign_regions=True), "plots_plane")


def space():
    X = make_variety("viviani", 300, noise=0.01)
    ideal = VanishingIdeal(max_degree=2, tol=0.05).fit(X)
    save(ZeroSetDisplay.from_estimator(ideal, X), "plots_space", dpi=75)


def spectrum():
    X = make_variety("twisted-cubic", 200, noise=0.01)
    ideal = VanishingIdeal(max_degree=3, tol=0.03).fit(X)
    unseen = make_variety("twisted-cubic", 200, noise=0.01, random_state=1)
    save(SpectrumDisplay.from_estimator(ideal, unseen), "plots_spectrum")


def basis():
    X = make_variety("segre-2x3", 300, noise=0.01)
    ideal = VanishingIdeal(max_degree=2, tol=0.05).fit(X)
    names = ["a1", "a2", "a3", "b1", "b2", "b3"]
    save(BasisDisplay.from_estimator(ideal, X, feature_names=names), "plots_basis")


def readings(n_rows, seed):
    """Readings of a machine: power = speed · force, and its heat."""
    rng = np.random.default_rng(seed)
    speed, force = rng.uniform(1, 2, (2, n_rows))
    power = speed * force * (1 + 0.02 * rng.normal(size=n_rows))
    temperature = 20 + 10 * power + 0.3 * rng.normal(size=n_rows)
    return pd.DataFrame(
        {"speed": speed, "force": force, "power": power, "temperature": temperature}
    )


def report():
    chromium = shutil.which("chromium")
    if chromium is None:
        return
    from playwright.sync_api import sync_playwright

    train, new = readings(1000, 0), readings(300, 1)
    broken = np.random.default_rng(2).choice(300, 12, replace=False)
    new.loc[broken[:6], "power"] *= 1.06
    new.loc[broken[6:], "temperature"] += 1.2
    labels = np.isin(np.arange(300), broken).astype(int)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_path = Path(folder) / "report.html"
        detector = VanishingDetector().fit(train)
        write_report(page_path, detector, new, labels=labels, train=train, title="Pump 7, May")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 640})
        page.goto(page_path.as_uri())
        page.screenshot(path=OUTPUT / "report_top.png")
        row = page.locator("article").first
        row.locator("summary").click()
        row.screenshot(path=OUTPUT / "report_row.png")
        browser.close()


if __name__ == "__main__":
    plt.switch_backend("agg")
    for make in (plane, space, spectrum, basis, report):
        make()
