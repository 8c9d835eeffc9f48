// The page for points in the plane.

import { ask, latest, post } from "./api.js";
import { attachCsv } from "./csv-dialog.js";
import { pointsToText } from "./csv.js";
import { rememberer, unsettle } from "./link.js";
import { announce, complain, copyLink, say, settleComplaint } from "./messages.js";
import { numberText } from "./numbers.js";
import { Panel } from "./panel.js";
import { attachPen } from "./pen.js";
import { saveFile } from "./save.js";
import { OWN, fromHash, pack, toHash, unpack } from "./state.js";
import { onThemeChange } from "./theme.js";

const byId = (id) => document.getElementById(id);
const REACHES = [1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100];
const MADE_OF_X = { permuted: "X, columns shuffled", uniform: "uniform around X", moved: "X moved by noise" };
const MOST_UNDO = 50;

const about = await ask("/api/about").catch((error) => {
  complain(error.message);
  throw error;
});
const curves = Object.fromEntries(about.curves.map((name) => [name, name.replaceAll("-", " ")]));
const arcs = { arc: "an arc of a circle", rest: "the rest of that circle" };
const SOURCES = {
  x: { ...arcs, ...curves, [OWN]: "my own points" },
  y: { ...arcs, ...MADE_OF_X, ...curves, [OWN]: "my own points" },
};
const known = {
  sources: { x: Object.keys(SOURCES.x), y: Object.keys(SOURCES.y) },
  normalizations: Array.from(byId("normalization").options, ({ value }) => value),
  limits: about,
};

let state = fromHash(location.hash, known);
let reach = 1.5;
let pointsAreStale = true;
const past = [];

const panels = {
  plain: new Panel(byId("plain"), { faintContrast: true, slider: byId("tol") }),
  contrastive: new Panel(byId("contrastive"), { faintContrast: false, slider: byId("contrast-tol") }),
};

// --- asking and showing --------------------------------------------------------------------------

async function update(signal) {
  if (pointsAreStale) {
    const before = state.points;
    const own = (set) => (state[`${set}Source`] === OWN ? state.points[set] : state[`${set}Source`]);
    const { nPoints: n_points, noise, seed } = state;
    pointsAreStale = false; // and true again if another source is chosen while the server draws
    const drawn = await post("scene", { x: own("x"), y: own("y"), n_points, noise, seed }, signal).catch((error) => {
      pointsAreStale = true;
      throw error;
    });
    if (state.points !== before) return; // changed by hand meanwhile, and asked for again
    state.points = drawn;
    reach = reachOf(drawn);
  }
  const { points: { x, y }, degree, normalization, tol, contrastTol: contrast_tol } = state;
  const fitted = await post("fit", { x, y, degree, normalization, tol, contrast_tol }, signal);
  for (const [name, panel] of Object.entries(panels)) panel.show(fitted[name], state.points, reach);
  settleComplaint();
}

const request = latest(update, {
  onError: (error) => complain(error.message),
  onWait: complain,
  onSettled: () => {
    document.dispatchEvent(new Event("settled"));
    remember();
  },
});

function changed({ points = false } = {}) {
  pointsAreStale ||= points;
  unsettle();
  showControls();
  request();
}

const remember = rememberer(() => {
  byId("python").textContent = python();
  return toHash(state);
});

function reachOf({ x, y }) {
  const largest = [...x, ...y].flat().reduce((most, c) => Math.max(most, Math.abs(c)), 0);
  return REACHES.find((r) => largest <= 0.94 * r) ?? 1.1 * largest;
}

function python() {
  const { degree, normalization, tol, contrastTol } = state;
  return [
    "import numpy as np",
    "from vanishing import VanishingIdeal",
    "",
    '# "Save CSV" writes this file.',
    'table = np.loadtxt("points.csv", delimiter=",", skiprows=1, dtype=str)',
    "points, is_contrast = table[:, :2].astype(float), table[:, 2] == \"Y\"",
    "X, Y = points[~is_contrast], points[is_contrast]",
    "",
    `plain = VanishingIdeal(max_degree=${degree}, tol=${Number(tol.toPrecision(3))}, normalization="${normalization}")`,
    'print(plain.fit(X).to_latex(["x", "y"], digits=3))',
    `ideal = VanishingIdeal(max_degree=${degree}, tol=${Number(contrastTol.toPrecision(3))}, normalization="contrastive")`,
    'print(ideal.fit(X, contrast=Y).to_latex(["x", "y"], digits=3))',
  ].join("\n");
}

// --- controls ------------------------------------------------------------------------------------

function showControls() {
  byId("x-source").value = state.xSource;
  byId("y-source").value = state.ySource;
  byId("n-points").value = state.nPoints;
  byId("n-points-value").textContent = state.nPoints;
  byId("noise").value = state.noise;
  byId("noise-value").textContent = state.noise;
  byId("degree").value = state.degree;
  byId("degree-value").textContent = state.degree;
  byId("normalization").value = state.normalization;
  byId("tol").value = Math.log10(state.tol);
  byId("contrast-tol").value = Math.log10(state.contrastTol);
  for (const id of ["tol", "contrast-tol"]) byId(id).setAttribute("aria-valuetext", numberText(10 ** byId(id).value, 2));
  panels.plain.showTolerance(state.tol);
  panels.contrastive.showTolerance(state.contrastTol);
  const isDrawn = [state.xSource, state.ySource].some((source) => source !== OWN);
  for (const id of ["n-points", "noise", "resample"]) byId(id).disabled = !isDrawn;
  byId("undo").disabled = past.length === 0;
  for (const panel of Object.values(panels)) panel.showAxes(state.columns);
  const note = byId("columns-note");
  note.hidden = !state.columns;
  note.textContent = state.columns?.map(({ name, center, scale }, k) =>
    `${"xy"[k]} = (${name} − ${numberText(center)}) / ${numberText(scale)}`).join("\n") ?? "";
}

// Points are rounded as the link rounds them, so that it shows the same equations.
function setOwn(points, { columns = null } = {}) {
  const rounded = { x: unpack(pack(points.x)), y: unpack(pack(points.y)) };
  Object.assign(state, { xSource: OWN, ySource: OWN, points: rounded, columns });
}

function keep() {
  past.push({ ...state, points: { x: [...state.points.x], y: [...state.points.y] } });
  if (past.length > MOST_UNDO) past.shift();
}

function bind(id, event, apply) {
  byId(id).addEventListener(event, ({ target }) => changed(apply(target.value) ?? {}));
}

function attachControls() {
  for (const set of ["x", "y"]) {
    const select = byId(`${set}-source`);
    select.replaceChildren(...Object.entries(SOURCES[set]).map(([value, text]) => new Option(text, value)));
    select.addEventListener("change", () => {
      keep();
      state[`${set}Source`] = select.value;
      if (select.value !== OWN) state.columns = null;
      changed({ points: true });
    });
    byId(`clear-${set}`).addEventListener("click", () => {
      keep();
      setOwn({ ...state.points, [set]: [] }, { columns: state.columns });
      changed();
    });
  }
  byId("degree").max = about.degree;
  bind("n-points", "input", (value) => { state.nPoints = Number(value); return { points: true }; });
  bind("noise", "input", (value) => { state.noise = Number(value); return { points: true }; });
  bind("resample", "click", () => { state.seed = (state.seed + 1) % 2 ** 31; return { points: true }; });
  bind("degree", "input", (value) => { state.degree = Number(value); });
  bind("normalization", "change", (value) => { state.normalization = value; });
  bind("tol", "input", (value) => { state.tol = Number((10 ** value).toPrecision(4)); });
  bind("contrast-tol", "input", (value) => { state.contrastTol = Number((10 ** value).toPrecision(4)); });
  byId("undo").addEventListener("click", undo);
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "z" && !event.shiftKey) { event.preventDefault(); undo(); }
  });
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("save-csv").addEventListener("click", () => saveFile("points.csv", pointsToText(state.points), "text/csv"));
  byId("copy-link").addEventListener("click", copyLink);
}

function undo() {
  if (!past.length) return;
  state = { ...past.pop(), degree: state.degree, normalization: state.normalization, tol: state.tol, contrastTol: state.contrastTol };
  reach = reachOf(state.points);
  changed();
}

const pen = {
  tool: () => document.querySelector("input[name=tool]:checked").value,
  chooseTool: (name) => { document.querySelector(`input[name=tool][value=${name}]`).checked = true; announce(`Tool: ${name}`); },
  begin: keep,
  add: (set, point) => edit({ ...state.points, [set]: [...state.points[set], point] }),
  erase: (isNear) => edit({ x: state.points.x.filter((p) => !isNear(p)), y: state.points.y.filter((p) => !isNear(p)) }),
  announce,
};

function edit(points) {
  if (points.x.length + points.y.length > about.points) {
    complain(`There are ${about.points} points, which is the limit. Erase some first.`);
    return;
  }
  setOwn(points, { columns: state.columns });
  for (const panel of Object.values(panels)) panel.showPoints(state.points, reach);
  announce(`${points.x.length} points of X, ${points.y.length} of Y`);
  changed();
}

// --- start ---------------------------------------------------------------------------------------

attachControls();
for (const panel of Object.values(panels)) attachPen(panel.plot, pen);
attachCsv({
  mostBytes: about.tableBytes,
  complain,
  made: MADE_OF_X,
  use: ({ points, scaling, made, kept, nRows }) => {
    keep();
    setOwn(points, { columns: scaling });
    if (made) state.ySource = made;
    state.nPoints = Math.min(400, Math.max(10, kept));
    if (kept < nRows) say(`${kept} of ${nRows} rows are shown.`);
    changed({ points: true });
  },
});
addEventListener("hashchange", () => {
  state = fromHash(location.hash, known);
  changed({ points: true });
});
onThemeChange(() => Object.values(panels).forEach(({ plot }) => plot.paint()));
changed({ points: true });
