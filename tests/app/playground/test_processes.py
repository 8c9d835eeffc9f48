"""The processes of the playground: time-outs, busy, crashes, start and end."""

import base64
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
import zipfile
from contextlib import contextmanager
from urllib.parse import urlsplit

import numpy as np
import psutil
import pytest
from tests.support.paths import ROOT, SOURCE

pytest.importorskip("starlette")

import httpx
from tests.support.playground import assert_refused, fit_request, playground

from vanishing.app.playground import Limits, serve, workers
from vanishing.app.playground import scenes as digits
from vanishing.app.playground.requests import RefusalError
from vanishing.app.playground.server import STATIC

pytestmark = pytest.mark.programs

# --- work that goes wrong -------------------------------------------------------------------------


def test_unforeseen_errors_say_nothing_of_the_machine(server, monkeypatch):
    async def fail(*_):
        raise RuntimeError(f"secret in {SOURCE}/vanishing/file.py")
        yield

    monkeypatch.setattr(workers.Worker, "ask", fail)
    assert_refused(server.post("fit", fit_request(tol=0.0123)), 500, "internal")


def test_a_worker_whose_server_is_gone_ends_without_a_word(capsys):
    def report():
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        workers.answer(json.dumps({"task": "report", "arguments": {}}).encode(), {"report": report})
    assert capsys.readouterr() == ("", "")


def test_a_worker_answers_until_its_server_is_gone():
    """One whose server was killed gets no word of it but the end of its input."""
    given = [[0.25, -1.5], [3.0, 2.0]]
    rows = [f"{k},{k % 2},a,{'yes' if k % 3 else 'no'}" for k in range(12)]
    tables = [
        "number,parity,same,word\n" + "\n".join(rows),
        ",".join("12345"),
        "PK\x03\x04 not a table",
    ]
    encoded = [base64.b64encode(text.encode()).decode() for text in tables]
    limits = {"most_columns": 4, "most_rows": 9}
    asked = [
        ("scene", {"x": given, "y": given[::-1], "n_points": 2, "noise": 0, "seed": 0}),
        *(("columns", {"table": each} | limits) for each in encoded),
        ("gallery", {"normal": "even"}),
        ("explain", {"normal": "even", "image": [0.5] * 64}),
    ]
    messages = [json.dumps({"task": task, "arguments": each}).encode() for task, each in asked]
    done = subprocess.run(
        [sys.executable, "-c", workers.BOOT, json.dumps(sys.path)],
        input=b"".join(each + b"\n" for each in messages),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    lines = (line.partition(b" ") for line in done.stdout.splitlines())
    answers = [(int(status), json.loads(body)) for status, _, body in lines]
    ready, scene, groups, wide, binary, gallery, why = answers
    assert ready[0] == 200
    assert scene == (200, {"x": given, "y": given[::-1]})
    assert groups[1]["nRows"] == 12
    found = {each["name"]: (each["groups"], len(each["members"])) for each in groups[1]["columns"]}
    assert found == {
        "number": ([], 0),  # all different
        "parity": (["0", "1"], 9),
        "same": ([], 0),
        "word": (["no", "yes"], 9),
    }
    assert (wide[0], wide[1]["error"]) == (413, "too-many-columns")
    assert binary[0] == 422
    assert "not a readable" in binary[1]["message"]
    labels = np.array(gallery[1]["labels"])
    assert gallery[1]["isNormal"] == (labels % 2 == 0).tolist()
    assert sum(turn["loss"] for turn in why[1]["rotations"]) == pytest.approx(why[1]["score"])


def test_unforeseen_errors_in_a_worker(capsys):
    def fail():
        raise OSError(2, "No such file", str(SOURCE))

    def refuse():
        raise RefusalError(422, "no", expected="a", got="b", remedy="c")

    tasks = {"fail": fail, "refuse": refuse, "nan": lambda: {"value": float("nan")}}

    def ask(task):
        return workers.answer(json.dumps({"task": task, "arguments": {}}).encode(), tasks)

    for task in ("fail", "nan", "unknown"):
        status, body = ask(task)
        assert status == 500
        assert str(SOURCE) not in body.decode()
        assert "Traceback" not in body.decode()
        assert "Traceback" in capsys.readouterr().err  # for whoever runs the server
    status, body = ask("refuse")
    assert (status, json.loads(body)["error"]) == (422, "no")


def slow_request():
    rng = np.random.default_rng(0)
    X, Y = rng.uniform(-1, 1, size=(2, 90_000, 2)).round(3).tolist()
    return fit_request(x=X, y=Y, degree=40, normalization="gradient", tol=0, contrast_tol=0)


SLOW = Limits(points=200_000, degree=60, body_bytes=10**8, workers=1, queue=1)


def test_work_that_takes_too_long_is_stopped():
    limits = Limits(**(vars(SLOW) | {"work_seconds": 0.5}))
    with playground(limits) as server:
        (pid,) = server.workers.pids
        process = psutil.Process(pid)
        started = time.monotonic()
        assert_refused(server.post("fit", slow_request()), 504, "too-slow")
        assert time.monotonic() - started < 15
        process.wait(timeout=5)
        assert not psutil.pid_exists(pid) or process.status() == psutil.STATUS_ZOMBIE
        await_worker(server)
        assert server.post("fit", fit_request()).status_code == 200
        assert server.workers.pids != [pid]


def await_worker(server):
    for _ in range(600):
        if server.workers.pids:
            return
        time.sleep(0.05)
    raise AssertionError("no new worker came")


def test_busy():
    """While one request is worked on and one waits, a third is told at once to come again."""
    limits = Limits(**(vars(SLOW) | {"work_seconds": 2.5, "queue_seconds": 1.0}))
    slow, quick = slow_request(), fit_request()
    with playground(limits) as server:
        answers = {}

        def ask(name, body):
            with httpx.Client(base_url=server.url, timeout=60) as client:
                answers[name] = client.post("/api/fit", json=body)

        threads = []
        for name, body in (("working", slow), ("waiting", quick)):
            threads.append(threading.Thread(target=ask, args=(name, body)))
            threads[-1].start()
            time.sleep(0.8)
        started = time.monotonic()
        assert server.client.get("/").status_code == 200  # pages are there meanwhile
        third = server.post("fit", quick)
        for thread in threads:
            thread.join()
        for response in (third, answers["waiting"]):
            assert_refused(response, 503, "busy")
            assert response.headers["retry-after"] == "1"
        assert time.monotonic() - started < 30
        assert_refused(answers["working"], 504, "too-slow")


@contextmanager
def hanging(server, body):
    """Send a request and hang up in the end, without waiting for the answer."""
    content = json.dumps(body).encode()
    host, port = urlsplit(server.url).netloc.split(":")
    with socket.create_connection((host, int(port))) as connection:
        head = f"POST /api/fit HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        head += f"Content-Length: {len(content)}\r\n\r\n"
        connection.sendall(head.encode() + content)
        time.sleep(0.8)
        yield


def test_work_of_who_hangs_up_is_not_begun(monkeypatch):
    asked = []
    ask = workers.Worker.ask

    async def count(self, task, arguments, *others):
        asked.append(arguments["degree"])
        async for message in ask(self, task, arguments, *others):
            yield message

    monkeypatch.setattr(workers.Worker, "ask", count)
    limits = Limits(**(vars(SLOW) | {"work_seconds": 3, "queue": 2, "queue_seconds": 60}))
    with playground(limits) as server, hanging(server, slow_request()):
        with hanging(server, fit_request(degree=1)):
            pass
        assert server.post("fit", fit_request(degree=2)).status_code == 200
    assert asked == [40, 2]


def test_a_worker_that_ends_is_replaced():
    with playground(Limits(workers=1, queue_seconds=60)) as server:
        (pid,) = server.workers.pids
        psutil.Process(pid).kill()
        for _ in range(3):
            last = server.post("fit", fit_request())
            if last.status_code == 200:
                break
            assert_refused(last, 500, "worker-ended")
        assert last.status_code == 200
        assert server.workers.pids != [pid]


def test_a_worker_that_ended_while_idle_costs_nobody_an_answer():
    with playground(Limits(workers=1, queue_seconds=60)) as server:
        (worker,) = server.workers._all
        worker.process.kill()
        while worker.process.returncode is None:
            time.sleep(0.02)
        assert server.post("fit", fit_request()).status_code == 200


def test_limits_are_checked():
    with pytest.raises(ValueError, match="workers must be at least 1"):
        Limits(workers=0)
    with pytest.raises(ValueError, match="queue_seconds must not be negative"):
        Limits(queue_seconds=-1)


# --- serve ----------------------------------------------------------------------------------------


def start(code, *, path=SOURCE, cwd=None):
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code],
        env=os.environ | {"PYTHONPATH": str(path)},
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_ends_everything_quietly():
    process = start("from vanishing.app.playground import serve; serve(port=0)")
    line = process.stderr.readline()
    url = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
    assert url, line + process.stderr.read()
    assert httpx.get(url.group()).status_code == 200
    workers = psutil.Process(process.pid).children()
    assert len(workers) == Limits().workers
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=20)
    assert (process.returncode, out, error) == (0, "", "")
    _, alive = psutil.wait_procs(workers, timeout=5)
    assert not alive
    with socket.create_server(("127.0.0.1", int(url.group(1)))):
        pass  # the port is free again


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_the_page_is_opened_by_a_name_that_works():
    """0.0.0.0 is every address of this computer, and none that a browser can open."""
    code = (
        "import warnings, webbrowser; warnings.simplefilter('ignore');"
        "webbrowser.open = lambda url: print('opened', url, flush=True);"
        "from vanishing.app.playground import Limits, serve;"
        "serve('0.0.0.0', 0, open_browser=True, limits=Limits(workers=1),"
        " on_start=lambda url: print('started', url, flush=True))"
    )
    process = start(code)
    try:
        (first, url), (second, opened) = (process.stdout.readline().split() for _ in range(2))
        assert (first, second) == ("started", "opened")
        assert url == opened
        assert re.fullmatch(r"http://localhost:\d+/", url)
        assert httpx.get(url, timeout=30).status_code == 200
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
    assert process.returncode == 0


def test_port_in_use():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"^port {port} of 127.0.0.1 is in use.*another port"):
            serve(port=port)


def test_addresses_that_cannot_be_listened_on():
    with pytest.raises(ValueError, match="port must be from 0 to 65535, got 70000"):
        serve(port=70000)
    with (
        pytest.warns(UserWarning, match="everyone who reaches this computer"),
        pytest.raises(OSError, match="not on this computer"),
    ):
        serve("192.0.2.1", port=0)


def test_addresses_of_others_are_answered_if_told_so():
    with playground(Limits(workers=1), hosts=["box"], any_address=True) as server:
        processes = [psutil.Process(pid) for pid in server.workers.pids]
        for host, status in (("box:80", 200), ("10.1.2.3:80", 200), ("evil.example", 421)):
            assert server.client.get("/", headers={"Host": host}).status_code == status
    psutil.wait_procs(processes, timeout=5)
    assert len(processes) == 1
    assert not processes[0].is_running()  # workers end with the server


# --- the package ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with what the wheel holds."""
    from hatchling.builders import wheel as builder

    folder = tmp_path_factory.mktemp("wheel")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (wheel,) = builder.WheelBuilder(str(ROOT)).build(directory=str(folder))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "installed")
    return folder / "installed"


def test_wheel_holds_the_pages(installed):
    for file in STATIC.rglob("*.*"):
        assert (installed / file.relative_to(SOURCE)).read_bytes() == file.read_bytes()


def test_playground_works_from_the_wheel(installed, tmp_path):
    pytest.importorskip("pyarrow")
    code = (
        "import vanishing; from vanishing.app.playground import serve; print(vanishing.__file__, "
    )
    code += "flush=True); serve(port=0)"
    process = start(code, path=installed, cwd=tmp_path)
    try:
        assert process.stdout.readline().startswith(str(installed))
        url = re.search(r"http://127\.0\.0\.1:\d+", process.stderr.readline()).group()
        with httpx.Client(base_url=url, timeout=60) as client:
            for page in ("/", "/points", "/images"):
                text = client.get(page).raise_for_status().text
                for file in re.findall(r'(?:src|href)="(/static/[^"]+)"', text):
                    client.get(file).raise_for_status()
            table = client.get("/static/samples/accounts.csv").raise_for_status().content
            headers = {"Content-Type": "text/csv"}
            answer = client.post("/api/laws", content=table, headers=headers)
            assert len(json.loads(answer.text.splitlines()[-1])["laws"]) == 3
            assert client.post("/api/fit", json=fit_request()).status_code == 200
    finally:
        process.terminate()
        process.communicate(timeout=20)


def test_detectors_are_fitted_once():
    assert digits._detector("3") is digits._detector("3")
