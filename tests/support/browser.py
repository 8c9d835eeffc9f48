"""A browser for the tests of the playground's pages."""

import shutil
from contextlib import contextmanager

import pytest

DRAWN = "html[data-settled]"
#: Points of X on a line, points of Y on another.
TABLE = "größe;gewicht;gruppe\n" + "".join(
    f"{170 + i};{60 + 2 * i};{'a' if i % 2 else 'b'}\n" for i in range(40)
)


@contextmanager
def chromium():
    """Start the machine's own Chromium, or skip."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("there is no chromium on this machine")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class View:
    """A page of the playground in the browser, and what went wrong in it."""

    def __init__(self, browser, url, **context):
        self.url = url
        shape = {"viewport": {"width": 1280, "height": 900}}
        self.context = browser.new_context(**(shape | context))
        self.page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        self.problems, self.requests = [], []
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", self._hear)
        self.page.on("request", lambda request: self.requests.append(request.url))

    def _hear(self, message):
        if message.type == "error":
            self.problems.append(message.text)

    def open(self, path="/points"):
        self.page.goto("about:blank")  # an address that differs behind the # would not be loaded
        self.page.goto(self.url + path)
        return self.settle()

    def settle(self):
        """Wait until the page shows what it was asked for."""
        self.page.wait_for_selector(DRAWN)
        return self

    def equations(self, panel):
        return self.page.locator(f"#{panel} .formula").evaluate_all(
            "all => all.map((each) => each.getAttribute('aria-label'))"
        )

    def picture(self, panel):
        """Return the canvas as text: equal pictures are equal texts."""
        return self.page.locator(f"#{panel} canvas").evaluate("canvas => canvas.toDataURL()")

    def pixel(self, panel, x, y):
        """Return the colour at a point of the plane, red, green, blue."""
        return self.page.locator(f"#{panel} canvas").evaluate(
            """(canvas, shares) => {
              const at = shares.map((share) => Math.round(share * canvas.width));
              return [...canvas.getContext("2d").getImageData(...at, 1, 1).data.slice(0, 3)];
            }""",
            self._shares(panel, x, y),
        )

    def darkest(self, panel, points):
        """Return the smallest sum of red, green and blue at some points."""
        return min(sum(self.pixel(panel, *point)) for point in points)

    def click(self, panel, x, y):
        """Click at a point of the plane."""
        canvas = self.page.locator(f"#{panel} canvas")
        canvas.scroll_into_view_if_needed()
        side = canvas.bounding_box()["width"]
        across, down = self._shares(panel, x, y)
        canvas.click(position={"x": across * side, "y": down * side})
        self.settle()

    def _shares(self, panel, x, y):
        """Return where a point is, as shares of the side, from the top left corner."""
        reach = float(self.page.locator(f"#{panel} canvas").get_attribute("data-reach"))
        return [(x / reach + 1) / 2, (1 - y / reach) / 2]

    def press(self, selector, *keys):
        for key in keys:
            self.page.locator(selector).press(key)
        self.settle()

    def close(self):
        self.context.close()


def put_file(view, content, name="points.csv", *, into="#csv-file"):
    data = content if isinstance(content, bytes) else content.encode()
    view.page.set_input_files(into, {"name": name, "mimeType": "text/csv", "buffer": data})
