// Asking the server: JSON there and back, refusals as errors, the latest question only.

import { numberText } from "./numbers.js";

export class Refused extends Error {
  constructor(answer, status, retryAfter) {
    super(answer.message ?? `The server answered with status ${status}.`);
    this.name = "Refused";
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

export function post(task, body, signal) {
  const headers = { "Content-Type": "application/json" };
  return ask(`/api/${task}`, { method: "POST", headers, body: JSON.stringify(body), signal });
}

export async function ask(address, options) {
  const response = await reach(address, options);
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw refused(answer, response);
  return answer;
}

async function reach(address, options) {
  try {
    return await fetch(address, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not respond; is it still running?");
  }
}

const refused = (answer, { status, headers }) => new Refused(answer, status, Number(headers.get("Retry-After") ?? 0));

function tableOptions(file, signal) {
  return { method: "POST", headers: { "Content-Type": "text/csv" }, body: file, signal };
}

// Tables are checked here first: a server hangs up on those that are too large.
function checkSize({ size }, mostBytes) {
  const shown = (bytes) => `${numberText(bytes / 1e6)} MB`;
  if (size > mostBytes) {
    throw new Error(`The file has ${shown(size)}, at most ${shown(mostBytes)} can be read here. Keep a part of its rows.`);
  }
}

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

// Asks a server that is busy again, when it says so.
async function askAgain(question, onWait) {
  for (;;) {
    try {
      return await question();
    } catch (error) {
      if (!(error.retryAfter > 0)) throw error;
      onWait?.();
      await pause(error.retryAfter);
    }
  }
}

// The columns of a file.
export function askColumns(file, mostBytes) {
  checkSize(file, mostBytes);
  return askAgain(() => ask("/api/columns", tableOptions(file)));
}

// Sends a file whose laws are wanted. Each line of the answer but the last is about progress.
export function askLaws(file, mostBytes, { signal, onProgress }) {
  checkSize(file, mostBytes);
  const options = tableOptions(file, signal);
  const question = async () => {
    signal.throwIfAborted();
    return readLines(await reach("/api/laws", options), onProgress);
  };
  return askAgain(question, () => onProgress({ step: "wait" }));
}

async function readLines(response, onProgress) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let last = {};
  const take = (line) => {
    if (line === "") return;
    last = JSON.parse(line);
    if (last.progress) onProgress(last.progress);
  };
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (rest + part.value).split("\n");
    rest = lines.pop();
    lines.forEach(take);
  }
  take(rest);
  if (!response.ok || last.error) throw refused(last, response);
  if (last.progress) throw new Error("The server stopped before it was done; is it still running?");
  return last;
}

const SLOW = 2000; // ms after which people are told that they wait

// While one run is under way, further requests wait, and the last of them alone is run after it. A
// run that takes longer than `patience` (ms) is given up for it. Where the server is busy, the run is
// repeated when it says so, and people are told meanwhile what they wait for.
export function latest(work, { onError, onSettled, onWait, patience = 400, attempts = 20 }) {
  let running = null;
  let again = false;
  let failures = 0;

  async function run() {
    const controller = new AbortController();
    running = { controller, since: performance.now() };
    again = false;
    const slow = setTimeout(() => onWait("The server is busy. This page is waiting …"), SLOW);
    try {
      await work(controller.signal);
      failures = 0;
    } catch (error) {
      if (error.name === "AbortError") {
        again = true;
      } else if (error.retryAfter > 0 && ++failures < attempts) {
        onWait("The server is busy. This page will try again …");
        await pause(error.retryAfter);
        again = true;
      } else {
        failures = 0;
        onError(error);
      }
    } finally {
      clearTimeout(slow);
    }
    running = null;
    if (again) run();
    else onSettled?.();
  }

  return () => {
    if (!running) {
      run();
      return;
    }
    again = true;
    if (performance.now() - running.since > patience) running.controller.abort();
  };
}
