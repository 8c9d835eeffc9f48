"""Make the pictures of README.md, and of pages of docs; run from the root of the repository.

The picture of the report needs Playwright and Chromium, and is left as it is without them.
"""

import shutil
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from vanishing import VanishingDetector, VanishingIdeal, discover, vca
from vanishing.app.report import write_report
from vanishing.datasets import make_variety
from vanishing.detectors import ChristoffelDetector
from vanishing.laws.cells import Cells
from vanishing.laws.model import Candidate, judge
from vanishing.plotting import BasisDisplay, SpectrumDisplay, ZeroSetDisplay

ROOT = Path(__file__).parents[1]
OUTPUT = Path(__file__).parent / "_static"


def save(display, name, dpi=100):
    """Write a small PNG, the same every time."""
    path = OUTPUT / f"{name}.png"
    display.figure_.savefig(path, dpi=dpi, metadata={"Software": None})
    plt.close(display.figure_)


#: A card that follows the theme of the page it is shown on.
CARD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"
  aria-label="{label}"
  font-family="ui-sans-serif, system-ui, 'Segoe UI', Helvetica, Arial, sans-serif">
<style>
  .card {{ fill: #ffffff; stroke: #d0d7de; }} .head {{ fill: #f3f5f8; }}
  .line {{ stroke: #e4e8ec; }} text {{ fill: #1f2328; font-size: 15px; }}
  .name {{ fill: #57606a; font-size: 13.5px; }} .law {{ font-size: 15px; }}
  .wrong {{ fill: #fff0e0; stroke: #c04a00; stroke-width: 2; }} .was {{ fill: #a33e00; }}
  .mine {{ fill: #0a6640; font-weight: 600; }} .say {{ fill: #57606a; font-size: 14px; }}
  @media (prefers-color-scheme: dark) {{
    .card {{ fill: #14181d; stroke: #3a424c; }} .head {{ fill: #1c222a; }}
    .line {{ stroke: #2a313a; }} text {{ fill: #e6edf3; }} .name, .say {{ fill: #9aa5b1; }}
    .wrong {{ fill: #3b2410; stroke: #ff9a4d; }} .was {{ fill: #ffb27a; }}
    .mine {{ fill: #6fdca5; }}
  }}
</style>
<rect class="card" x="1" y="1" width="{inner}" height="{tall}" rx="10"/>
{content}
</svg>
"""


def broken_cell():
    """A table whose broken cell is found, as `vanishing check` finds it."""
    table = pd.read_csv(ROOT / "examples" / "data" / "accounts.csv")
    laws = discover(table)
    found = laws.check(table).to_frame()
    first = found.iloc[0]
    around = table.iloc[first["row"] - 2 : first["row"] + 3]
    edge, wide, high, top = 24, 84, 34, 46
    centers = [edge + 40 + wide * i for i in range(len(around.columns))]
    width = edge + wide * len(centers) + 6
    content = [f'<rect class="head" x="2" y="2" width="{width - 4}" height="{top - 8}" rx="9"/>']
    content += [
        f'<text class="name" x="{x + 30}" y="27" text-anchor="end">{name}</text>'
        for x, name in zip(centers, around.columns, strict=True)
    ]
    for line, (number, row) in enumerate(around.iterrows()):
        y = top + high * line
        for x, (name, value) in zip(centers, row.items(), strict=True):
            written = str(value) if name == "month" else str(value).replace("-", "\N{MINUS SIGN}")
            if number == first["row"] and name == first["cell"]:
                content.append(
                    f'<rect class="wrong" x="{x - 26}" y="{y}" width="68" height="{high - 4}" '
                    'rx="6"/>'
                    f'<text class="was" x="{x + 30}" y="{y + 20}" text-anchor="end" '
                    f'text-decoration="line-through">{written}</text>'
                )
            else:
                content.append(
                    f'<text x="{x + 30}" y="{y + 20}" text-anchor="end">{written}</text>'
                )
    bottom = top + high * len(around) + 6
    content.append(f'<path class="line" d="M2 {bottom}H{width - 2}"/>')
    broken = set(first["law"].split("; ")) if isinstance(first["law"], str) else set()
    for line, law in enumerate(laws.equations):
        y = bottom + 30 + 27 * line
        text = str(law).replace("*", " × ")
        sign = "✗" if any(str(law) in name for name in broken) else "✓"
        style = "was" if sign == "✗" else "mine"
        content.append(f'<text class="{style}" x="{edge}" y="{y}">{sign}</text>')
        content.append(f'<text class="law" x="{edge + 24}" y="{y}">{text}</text>')
    content.append(
        f'<text class="mine" x="{width - edge}" y="{bottom + 44}" text-anchor="end" '
        f'style="font-size: 19px">{first["cell"]} = {first["fix"]:.0f} would fix it</text>'
        f'<text class="say" x="{width - edge}" y="{bottom + 70}" text-anchor="end">'
        f"3 laws found in the table itself, 2 of them broken in {around.iloc[2, 0]}</text>"
    )
    height = bottom + 30 + 27 * len(laws.equations)
    label = (
        f"Five rows of a table of accounts. The cell {first['cell']} {first['value']:.0f} is "
        f"marked: it breaks two of the laws found, {first['fix']:.0f} would fix it."
    )
    picture = CARD.format(
        width=width,
        height=height,
        inner=width - 2,
        tall=height - 2,
        label=label,
        content="\n".join(content),
    )
    (OUTPUT / "broken_cell.svg").write_text(picture, encoding="utf-8")


def classes(n_rows):
    """The two classes of README.md, on one surface, and points without any order."""
    rng = np.random.default_rng(0)
    x, u = rng.uniform(-1, 1, (2, n_rows))
    noise = 0.05 * rng.normal(size=(2, n_rows, 3))
    X = np.column_stack([x, 0 * x, 1 - x**2]) + noise[0]
    Y = np.column_stack([u, -0.8 * u, 1 - u**2]) + noise[1]
    return X, Y, rng.uniform(-1, 1, (n_rows, 3))


def two_classes():
    """The first figure of the paper, computed: what VCA finds with random points and with Y."""
    X, Y, Z = classes(1000)
    panels = [
        (vca(X, Z, tol=0.15), 205, "VCA(X, random points)", "holds on X, and on Y as well"),
        (vca(X, Y, tol=0.15), 590, "VCA(X, Y)", "holds on X, and not on Y"),
    ]
    content = []
    for ideal, center, title, said in panels:
        best = int(np.argmin(ideal.extents_))
        content += draw_surface(ideal, best, center)
        content += draw_points(X[:110], center, "x") + draw_points(Y[:110], center, "y")
        content.append(
            f'<text class="law" x="{center}" y="34" text-anchor="middle" font-weight="600">{title}'
            f'</text><text class="say" x="{center}" y="57" text-anchor="middle">{said}</text>'
        )
    content.append(
        '<text class="say" x="393" y="318" text-anchor="middle"><tspan class="x">●</tspan> X and '
        '<tspan class="y">▲</tspan> Y lie on one surface; shaded: where the equation found holds'
        "</text>"
    )
    label = (
        "Two classes of points on one curved surface. With random points as contrast the equation "
        "holds on the whole surface; with the other class it holds along the first class only."
    )
    colors = (
        "<style> .x { fill: #0072B2; } .y { fill: #C77700; } .g { fill: #0072B2; } "
        ".edge { fill: none; stroke: #8a949e; } @media (prefers-color-scheme: dark) { "
        ".x { fill: #5cb8ef; } .y { fill: #ffb54d; } .g { fill: #5cb8ef; } }</style>"
    )
    picture = CARD.format(
        width=786,
        height=333,
        inner=784,
        tall=331,
        label=label,
        content="\n".join([colors, *content]),
    )
    (OUTPUT / "two_classes.svg").write_text(picture, encoding="utf-8")


def project(points, center):
    """Points of the surface as seen from above and from the side."""
    x, y, z = np.asarray(points).T
    return np.column_stack([center + 125 * x + 20 * y, 225 - 62 * z - 72 * y])


def draw_surface(ideal, index, center):
    """Draw the surface z = 1 - x² in small pieces, the darker the better an equation holds."""
    u, v = np.linspace(-1, 1, 25), np.linspace(-0.9, 0.9, 19)
    drawn = []
    for a, b in pairwise(u):
        for c, d in pairwise(v):
            corners = [(a, c), (b, c), (b, d), (a, d)]
            path = " ".join(
                f"{x:.0f},{y:.0f}"
                for x, y in project([(p, q, 1 - p**2) for p, q in corners], center)
            )
            middle = np.array([[(a + b) / 2, (c + d) / 2, 1 - ((a + b) / 2) ** 2]])
            value = ideal.transform(middle)[0, index] / 0.35
            opacity = 0.45 * np.exp(-(value**2))
            if opacity > 0.01:
                drawn.append(f'<polygon class="g" points="{path}" opacity="{opacity:.2f}"/>')
    edge = [(p, -0.9) for p in u] + [(p, 0.9) for p in u[::-1]]
    path = " ".join(
        f"{x:.0f},{y:.0f}" for x, y in project([(p, q, 1 - p**2) for p, q in edge], center)
    )
    return [*drawn, f'<polygon class="edge" points="{path}"/>']


def draw_points(points, center, kind):
    """Draw points of a class, those of the second as triangles."""
    if kind == "x":
        return [
            f'<circle class="x" cx="{x:.0f}" cy="{y:.0f}" r="2.6"/>'
            for x, y in project(points, center)
        ]
    return [
        f'<path class="y" d="M{x:.0f} {y - 3:.0f}l3 5h-6z"/>' for x, y in project(points, center)
    ]


def bits_of_a_law():
    """Bits of the cells of a column on its own, and written down by its law."""
    table = pd.read_csv(ROOT / "examples" / "data" / "accounts.csv").iloc[:, 1:]
    cells = Cells(table.to_numpy(dtype=float))
    names = list(table.columns)
    rows = np.arange(len(table))
    parts = ["sales", "costs", "profit"]
    terms = tuple(((names.index(name), 1),) for name in parts)
    law = judge(Candidate(terms, (1.0, -1.0, -1.0)), cells, {}, [names.index("sales")])
    alone = -cells.log_alone[:, law.target]
    figure, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
    ax.bar(rows + 1, alone, color="#b8c4d2", width=0.85, label="on its own")
    ax.bar(rows + 1, alone - law.gains, color="#c04a00", width=0.85, label="by the law")
    ax.set(xlabel="row", ylabel="bits", xlim=(0, len(rows) + 1), ylim=(0, 1.8 * alone.max()))
    said = f"{alone.sum():.0f} bits on its own, {(alone - law.gains).sum():.0f} by the law"
    ax.set_title(f"sales, written down on its own and as costs + profit: {said}", fontsize=9.5)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(ncols=2, frameon=False, fontsize=9, loc="upper right")
    figure.savefig(OUTPUT / "bits_of_a_law.png", dpi=110, metadata={"Software": None})
    plt.close(figure)


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


def law():
    rng = np.random.default_rng(0)
    m, v = rng.uniform(1, 5, (2, 500))
    X = np.column_stack([m, v, m * v**2 / 2])
    X += 0.01 * X.std(axis=0) * np.random.default_rng(1).normal(size=X.shape)
    laws = discover(X, ["m", "v", "E"])
    X[[17, 240], 2] *= [1.6, 0.5]
    figure = laws.plot(X)[0, 0].figure
    figure.set_size_inches(6.5, 4.6)
    figure.savefig(OUTPUT / "plots_law.png", dpi=100, metadata={"Software": None})


def christoffel():
    """Draw the support that is found at three degrees."""
    X = make_variety("lemniscate", 1000, noise=0.05)
    x, y = np.meshgrid(np.linspace(-1.4, 1.4, 160), np.linspace(-0.8, 0.8, 100))
    grid = np.column_stack([x.ravel(), y.ravel()])
    figure, axes = plt.subplots(1, 3, figsize=(9.6, 2.2), layout="constrained", sharey=True)
    for axis, degree in zip(axes, (2, 4, 8), strict=True):
        detector = ChristoffelDetector(degree).fit(X)
        scores = detector.score_samples(grid).reshape(x.shape)
        axis.contourf(x, y, np.maximum(scores, -12), levels=24, cmap="Blues")
        lines = {"colors": "#333333", "linestyles": "solid", "linewidths": 1.0}
        axis.contour(x, y, scores, levels=[detector.offset_], **lines)
        axis.scatter(*X[::3].T, s=1.5, color="white", alpha=0.7)
        axis.set_title(f"degree {degree}", loc="left", fontsize=10)
        axis.set_aspect("equal")
    figure.savefig(OUTPUT / "christoffel.png", dpi=80, metadata={"Software": None})
    plt.close(figure)


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


#: The part of a picture that can be read in the gallery: number of the picture; left, top, right,
#: bottom as shares of its size.
THUMBNAILS = {
    "accounts": (1, (0.0, 0.06, 1.0, 1.0)),
    "digit_contrast": (1, (0.0, 0.0, 1.0, 1.0)),
    "lab_sheet": (1, (0.0, 0.05, 1.0, 1.0)),
    "conserved_quantity": (1, (0.0, 0.0, 0.42, 1.0)),
    "contrast": (1, (0.0, 0.0, 0.25, 1.0)),
    "coupler_curve": (1, (0.08, 0.05, 0.85, 0.93)),
    "epipolar": (1, (0.36, 0.08, 0.68, 1.0)),
    "explanation": (2, (0.0, 0.0, 1.0, 1.0)),
    "gas_law": (1, (0.5, 0.0, 1.0, 1.0)),
    "images": (3, (0.0, 0.1, 0.5, 1.0)),
    "loop_invariant": (1, (0.0, 0.09, 1.0, 1.0)),
    "normalizations": (1, (0.05, 0.0, 0.24, 0.54)),
    "tables": (1, (0.03, 0.05, 1.0, 1.0)),
    "tolerance": (1, (0.0, 0.0, 0.333, 1.0)),
    "tuning": (1, (0.0, 0.0, 1.0, 1.0)),
}


def thumbnails():
    """Cut the thumbnails of the gallery out of its pictures, after `make docs`."""
    from PIL import Image, ImageOps

    for name, (number, box) in THUMBNAILS.items():
        path = ROOT / f"docs/auto_examples/images/sphx_glr_plot_{name}_{number:03d}_2_00x.png"
        if not path.exists():
            continue
        picture = Image.open(path).convert("RGB")
        corners = [round(share * picture.size[i % 2]) for i, share in enumerate(box)]
        part = ImageOps.pad(picture.crop(corners), (480, 336), color="white")
        part.quantize(64).save(OUTPUT / "thumbnails" / f"{name}.png", optimize=True)


if __name__ == "__main__":
    plt.switch_backend("agg")
    for make in (
        broken_cell,
        two_classes,
        bits_of_a_law,
        plane,
        space,
        spectrum,
        basis,
        law,
        christoffel,
        report,
        thumbnails,
    ):
        make()
