"""Records the playground at work: ``python -m benchmarks.playground.recording``."""

import io
import math
import shutil
from dataclasses import dataclass

from benchmarks.playground.server import ROOT, running
from PIL import Image
from playwright.sync_api import Page, sync_playwright

RECORDING = ROOT / "docs" / "_static" / "playground.gif"
SIZE = {"width": 1280, "height": 1150}
COLOURS = 256  # of all frames together
BRIEF, LONG = 900, 2400  # ms

# The controls stand left of what is recorded. Above it stands what they say instead, and what was
# changed last is marked. Both panels keep their height, so that nothing below the pictures jumps.
STYLE = """
.top, .lede p { display: none }
main { padding-top: 14px !important }
h1 { font-size: 28px !important }
.lede { margin: 0 0 12px 16.75rem }
.legend { margin-top: 9px }
.panel { position: relative; height: 850px; overflow: hidden; box-shadow: none }
.panel::after {
  content: ""; position: absolute; inset: auto 0 0; height: 30px;
  background: linear-gradient(transparent, var(--surface) 80%);
}
.equations { max-height: none }
#settings { display: flex; gap: 8px; margin-top: 7px }
#settings span {
  padding: 3px 12px; border: 1px solid var(--line); border-radius: 99px;
  background: var(--surface); color: var(--ink);
}
#settings .changed {
  border-color: var(--accent); outline: 1px solid var(--accent); color: var(--accent);
  background: color-mix(in srgb, var(--accent) 12%, var(--surface));
}
"""
SHOW_SETTINGS = """() => {
  const said = (selector) => document.querySelector(selector).textContent;
  const set = (name) => {
    const { text } = document.getElementById(`${name}-source`).selectedOptions[0];
    return `<i class="dot ${name}"></i> ${name.toUpperCase()}: ${text}`;
  };
  const now = [
    set("x"),
    set("y"),
    `Degree up to ${said("#degree-value")}`,
    `Tolerance ${said("#plain [data-part=tol-value]")}`,
  ];
  if (!document.getElementById("settings")) {
    document.querySelector(".lede h1").insertAdjacentHTML("afterend", '<div id="settings"></div>');
  }
  const row = document.getElementById("settings");
  const before = Array.from(row.children, ({ innerHTML }) => innerHTML);
  const mark = (text, k) => (before.length && text !== before[k] ? "changed" : "");
  row.innerHTML = now.map((text, k) => `<span class="${mark(text, k)}">${text}</span>`).join("");
  document.activeElement.blur();
}"""


@dataclass(frozen=True)
class Scene:
    """Two sets of points, the degrees tried on them, and then the tolerances."""

    x: str
    y: str
    degrees: tuple[int, ...]
    tolerances: tuple[float, ...]


SCENES = (
    Scene("arc", "rest", (1, 2), (0.05, 0.063, 0.1, 0.16, 0.2)),
    Scene("lemniscate", "uniform", (2, 3, 4), (0.05, 0.03, 0.07, 0.1)),
)


def main() -> None:
    """Move the controls as a reader would, and write what the browser shows."""
    with running() as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        # The page allows no styles but its own; this browser may add the recording's.
        page = browser.new_page(viewport=SIZE, color_scheme="light", bypass_csp=True)
        page.goto(f"{server.url}points")
        page.add_style_tag(content=STYLE)
        shown = [frame for scene in SCENES for frame in frames(page, scene)]
        browser.close()
    pictures, milliseconds = zip(*shown, strict=True)
    write(list(pictures), list(milliseconds))
    print(f"{RECORDING.relative_to(ROOT)}: {RECORDING.stat().st_size // 1000} kB")


def frames(page: Page, scene: Scene) -> list[tuple[Image.Image, int]]:
    """Play a scene; return what is seen, and for how many milliseconds."""
    page.wait_for_selector("html[data-settled]")
    page.select_option("#x-source", scene.x)
    page.select_option("#y-source", scene.y)
    set_tolerance(page, scene.tolerances[0])
    seen = []
    for degree in scene.degrees:
        page.fill("#degree", str(degree))
        seen.append((picture(page), LONG if degree == scene.degrees[-1] else 2 * BRIEF))
    for tolerance in scene.tolerances[1:]:
        set_tolerance(page, tolerance)
        seen.append((picture(page), LONG if tolerance == scene.tolerances[-1] else BRIEF))
    return seen


def set_tolerance(page: Page, tolerance: float) -> None:
    """Move both sliders, whose steps are those of a logarithm."""
    for slider in ("#tol", "#contrast-tol"):
        step = float(page.get_attribute(slider, "step") or 1)
        page.fill(slider, f"{round(math.log10(tolerance) / step) * step:.2f}")


def picture(page: Page) -> Image.Image:
    """Return the page without its controls, once it shows what it was asked for."""
    page.wait_for_selector("html[data-settled]")
    page.evaluate(SHOW_SETTINGS)
    corners = [page.locator(name).bounding_box() for name in ("#plain", "#contrastive")]
    first, last = (corner for corner in corners if corner is not None)
    margin = 14
    clip = {
        "x": first["x"] - margin,
        "y": 0,
        "width": last["x"] + last["width"] - first["x"] + 2 * margin,
        "height": last["y"] + last["height"] + margin,
    }
    return Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")


def write(pictures: list[Image.Image], milliseconds: list[int]) -> None:
    """Write a GIF that repeats for ever, in one palette for all pictures.

    Widely spread colours keep the few pixels of text true; without dither the pale slopes around
    the zero sets would fall into bands.
    """
    width, height = pictures[0].size
    all_of_them = Image.new("RGB", (width, height * len(pictures)))
    for k, each in enumerate(pictures):
        all_of_them.paste(each, (0, k * height))
    palette = all_of_them.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, kmeans=1)
    first, *rest = (
        each.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG) for each in pictures
    )
    first.save(
        RECORDING, save_all=True, append_images=rest, duration=milliseconds, loop=0, optimize=True
    )


if __name__ == "__main__":
    main()
