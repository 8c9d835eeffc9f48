// Scores of normal and other images as bars, back to back, with the threshold.

const SVG = "http://www.w3.org/2000/svg";
const BINS = 36;
const [HEIGHT, MIDDLE, HALF] = [132, 66, 50];

function add(parent, name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
}

// Scores are spread by log(1 + s): most are small, some are large.
export function drawHistogram(container, { scores, isNormal, threshold }, score) {
  const width = container.clientWidth || 400;
  const most = Math.log1p(Math.max(...scores, score ?? 0)) * 1.02;
  const place = (s) => (Math.log1p(Math.max(0, s)) / most) * width;
  const counts = { usual: new Array(BINS).fill(0), others: new Array(BINS).fill(0) };
  scores.forEach((s, k) => {
    const bin = Math.min(BINS - 1, Math.floor((place(s) / width) * BINS));
    counts[isNormal[k] ? "usual" : "others"][bin]++;
  });
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT + 18}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `Scores of the images; those above ${threshold.toFixed(1)} are alarms`);
  for (const [name, direction] of [["usual", -1], ["others", 1]]) {
    const largest = Math.max(...counts[name], 1);
    counts[name].forEach((count, bin) => {
      const height = count && Math.max(2, (count / largest) * HALF);
      const y = direction < 0 ? MIDDLE - 1 - height : MIDDLE + 1;
      add(svg, "rect", { class: name, x: (bin * width) / BINS + 0.5, y, width: width / BINS - 1, height, rx: 1.5 });
    });
  }
  add(svg, "line", { class: "base", x1: 0, x2: width, y1: MIDDLE, y2: MIDDLE });
  add(svg, "text", { x: width, y: 12, "text-anchor": "end" }, "normal digits");
  add(svg, "text", { x: width, y: HEIGHT - 4, "text-anchor": "end" }, "other digits");
  for (const tick of [0, 1, 3, 10, 30, 100, 300, 1000].filter((t) => place(t) < width - 12)) {
    add(svg, "text", { x: Math.max(4, place(tick)), y: HEIGHT + 14, "text-anchor": "middle" }, String(tick));
  }
  const at = place(threshold);
  add(svg, "line", { class: "threshold", x1: at, x2: at, y1: 4, y2: HEIGHT });
  add(svg, "text", { x: at + 4, y: 12 }, "alarm →");
  if (score !== undefined) {
    const here = place(score);
    add(svg, "path", { class: "here", d: `M${here} ${MIDDLE - 6}l6 6l-6 6l-6 -6z` });
  }
  container.replaceChildren(svg);
}

// The share of pairs (normal, other) in which the other one scores higher.
export function areaUnderCurve(scores, isNormal) {
  const order = scores.map((_, k) => k).sort((a, b) => scores[a] - scores[b]);
  let [normals, pairs] = [0, 0];
  for (const k of order) {
    if (isNormal[k]) normals++;
    else pairs += normals;
  }
  return pairs / (normals * (scores.length - normals));
}
