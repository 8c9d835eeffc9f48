// What the page shows, and the same as the part of its address behind the #.

export const DEFAULTS = Object.freeze({
  degree: 2,
  normalization: "gradient",
  tol: 0.05,
  contrastTol: 0.05,
  xSource: "arc",
  ySource: "rest",
  nPoints: 160,
  noise: 0.02,
  seed: 12, // one that shows the idea well
});
// A set whose points were drawn, erased or read from a file.
export const OWN = "own";

const KEYS = {
  degree: "d", normalization: "norm", tol: "t", contrastTol: "ct",
  xSource: "x", ySource: "y", nPoints: "n", noise: "e", seed: "s",
};
const LARGEST = 32767;

// Points as text: the largest coordinate, and the others as 16-bit shares of it.
export function pack(points) {
  const scale = Number(Math.max(1e-9, ...points.flat().map(Math.abs)).toPrecision(6));
  const bytes = new DataView(new ArrayBuffer(4 * points.length));
  points.flat().forEach((c, k) => bytes.setInt16(2 * k, Math.round((Math.max(-scale, Math.min(scale, c)) / scale) * LARGEST)));
  let text = "";
  for (let k = 0; k < bytes.byteLength; k++) text += String.fromCharCode(bytes.getUint8(k));
  return `${scale}_${btoa(text).replaceAll("+", "-").replaceAll("/", ".").replaceAll("=", "")}`;
}

export function unpack(packed) {
  const cut = packed.indexOf("_");
  const scale = Number(packed.slice(0, cut));
  const text = atob(packed.slice(cut + 1).replaceAll("-", "+").replaceAll(".", "/"));
  if (!(scale > 0 && scale <= 1e6) || text.length % 4) throw new Error("not points");
  const bytes = new DataView(Uint8Array.from(text, (c) => c.charCodeAt(0)).buffer);
  return Array.from({ length: text.length / 4 }, (_, k) =>
    [bytes.getInt16(4 * k), bytes.getInt16(4 * k + 2)].map((c) => (c * scale) / LARGEST));
}

export function toHash(state) {
  const fields = new URLSearchParams();
  for (const [name, key] of Object.entries(KEYS)) {
    if (state[name] !== DEFAULTS[name]) fields.set(key, state[name]);
  }
  if (state.xSource === OWN) fields.set("px", pack(state.points.x));
  if (state.ySource === OWN) fields.set("py", pack(state.points.y));
  if (state.columns) fields.set("cols", JSON.stringify(state.columns));
  const text = fields.toString();
  return text ? `#${text}` : "";
}

// The state that an address describes. What it says wrongly is as if it were not said.
export function fromHash(hash, { sources, normalizations, limits }) {
  const fields = new URLSearchParams(hash.slice(1));
  const number = (name, low, high, whole = false) => {
    const value = fields.has(KEYS[name]) ? Number(fields.get(KEYS[name])) : NaN;
    return value >= low && value <= high && (!whole || Number.isInteger(value)) ? value : DEFAULTS[name];
  };
  const choice = (name, known) => (known.includes(fields.get(KEYS[name])) ? fields.get(KEYS[name]) : DEFAULTS[name]);
  const points = (key) => {
    try {
      return fields.has(key) ? unpack(fields.get(key)).slice(0, Math.floor(limits.points / 2)) : [];
    } catch {
      return [];
    }
  };
  return {
    degree: number("degree", 1, limits.degree, true),
    normalization: choice("normalization", normalizations),
    tol: number("tol", 1e-4, 10),
    contrastTol: number("contrastTol", 1e-4, 10),
    xSource: choice("xSource", sources.x),
    ySource: choice("ySource", sources.y),
    nPoints: number("nPoints", 1, 400, true),
    noise: number("noise", 0, 1),
    seed: number("seed", 0, 2 ** 31 - 1, true),
    points: { x: points("px"), y: points("py") },
    columns: columns(fields.get("cols")),
  };
}

function columns(text) {
  try {
    const read = JSON.parse(text);
    const good = Array.isArray(read) && read.length === 2
      && read.every((c) => typeof c.name === "string" && Number.isFinite(c.center) && c.scale > 0);
    return good ? read.map(({ name, center, scale }) => ({ name: name.slice(0, 80), center, scale })) : null;
  } catch {
    return null;
  }
}
