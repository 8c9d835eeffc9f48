"""Firefox for the tests of the playground's pages, driven by the WebDriver BiDi that it speaks."""

import asyncio
import json
import re
import shutil
import subprocess
import time
from contextlib import contextmanager

import pytest

SECONDS = 20
KEYS = {"Enter": "\ue007", "ArrowRight": "\ue014"}


class Firefox:
    """A page in Firefox, and what went wrong in it."""

    def __init__(self, runner, socket):
        self._run = runner.run
        self._socket = socket
        self._number = 0
        self.problems = []
        self.ask("session.new", capabilities={})
        self.ask("session.subscribe", events=["log.entryAdded"])
        # Not the first tab, which has no focus, so that keys do nothing to its buttons.
        self.context = self.ask("browsingContext.create", type="tab")["context"]

    def ask(self, method, **parameters):
        """Send a command, and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        return self._run(asyncio.wait_for(self._answer(message), SECONDS))

    async def _answer(self, message):
        await self._socket.write_message(json.dumps(message))
        while True:
            answer = json.loads(await self._socket.read_message())
            if answer.get("id") == message["id"]:
                assert answer["type"] == "success", answer
                return answer["result"]
            if answer.get("method") == "log.entryAdded" and answer["params"]["level"] == "error":
                self.problems.append(answer["params"]["text"])

    def open(self, url, *, width=1280):
        viewport = {"width": width, "height": 900}
        self.ask("browsingContext.setViewport", context=self.context, viewport=viewport)
        for address in ("about:blank", url):
            self.ask("browsingContext.navigate", context=self.context, url=address, wait="complete")
        return self.settle()

    def evaluate(self, expression):
        """Return the value of an expression that is a text, a number or a truth value."""
        target = {"context": self.context}
        found = self.ask("script.evaluate", expression=expression, target=target, awaitPromise=True)
        assert found["type"] == "success", found
        return found["result"].get("value")

    def wait_for(self, expression):
        until = time.monotonic() + SECONDS
        while not self.evaluate(expression):
            assert time.monotonic() < until, expression
            time.sleep(0.05)
        return self

    def settle(self):
        return self.wait_for("document.documentElement.dataset.settled === 'true'")

    def text(self, selector):
        return self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")

    def texts(self, selector):
        listed = f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.innerText)"
        return json.loads(self.evaluate(f"JSON.stringify({listed})"))

    def press(self, *keys):
        codes = [KEYS.get(key, key) for key in keys]
        actions = [{"type": kind, "value": code} for code in codes for kind in ("keyDown", "keyUp")]
        source = {"type": "key", "id": "keyboard", "actions": actions}
        self.ask("input.performActions", context=self.context, actions=[source])

    def click(self, selector):
        box = f"document.querySelector({json.dumps(selector)}).getBoundingClientRect()"
        x, y = json.loads(
            self.evaluate(
                f"(() => {{ const b = {box}; "
                "return JSON.stringify([b.x + b.width / 2, b.y + b.height / 2]); })()"
            )
        )
        actions = [
            {"type": "pointerMove", "x": round(x), "y": round(y)},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        source = {"type": "pointer", "id": "mouse", "actions": actions}
        self.ask("input.performActions", context=self.context, actions=[source])

    def put_file(self, selector, path):
        """Choose a file for an input."""
        found = self.ask(
            "browsingContext.locateNodes",
            context=self.context,
            locator={"type": "css", "value": selector},
        )
        node = {"sharedId": found["nodes"][0]["sharedId"]}
        self.ask("input.setFiles", context=self.context, element=node, files=[str(path)])


@contextmanager
def firefox(folder):
    """Start the machine's own Firefox with a new profile, or skip."""
    websocket = pytest.importorskip("tornado.websocket")
    path = shutil.which("firefox-esr") or shutil.which("firefox")
    if path is None:
        pytest.skip("there is no firefox on this machine")
    command = [path, "--headless", "--no-remote", "--profile", str(folder)]
    process = subprocess.Popen(
        [*command, "--remote-debugging-port", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        address = next(filter(None, (re.search(r"ws://\S+", line) for line in process.stderr)))
        with asyncio.Runner() as runner:
            socket = runner.run(_connect(websocket, f"{address.group()}/session"))
            running = Firefox(runner, socket)
            yield running
            running.ask("browser.close")
            socket.close()
        process.wait(timeout=SECONDS)
    finally:
        process.kill()
        process.communicate()


async def _connect(websocket, address):
    return await websocket.websocket_connect(address, max_message_size=2**26)
