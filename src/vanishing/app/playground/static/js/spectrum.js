// Extents of all candidates, a row for each degree, above the slider of the tolerance: its thumb
// and the line in the picture are at the same place.

import { superscript } from "./numbers.js";

const SVG = "http://www.w3.org/2000/svg";
const ROW = 20;
const AXIS = 16;
const THUMB = 16; // width of the slider's thumb, whose centre is what counts

function add(parent, name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

// `low` and `high` are the ends of the slider, powers of ten.
export function drawSpectrum(container, degrees, tol, { low, high }) {
  const width = container.clientWidth || 400;
  const height = AXIS + ROW * Math.max(degrees.length, 1);
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", describe(degrees));
  const place = (log) => {
    const clamped = Math.min(Math.max(log, low), high);
    return THUMB / 2 + ((clamped - low) / (high - low)) * (width - THUMB);
  };
  const line = place(Math.log10(tol));
  add(svg, "rect", { class: "within", x: 0, y: AXIS - 2, width: line, height: height - AXIS + 2 });
  for (let power = low; power <= high; power++) {
    add(svg, "line", { class: "grid", x1: place(power), x2: place(power), y1: AXIS, y2: height });
    const label = power === 0 || power === 1 ? String(10 ** power) : `10${superscript(power)}`;
    const anchor = power === low ? "start" : power === high ? "end" : "middle";
    add(svg, "text", { class: "tick", x: place(power), y: 10, "text-anchor": anchor }, label);
  }
  degrees.forEach((step, row) => {
    const y = AXIS + ROW * (row + 0.5);
    add(svg, "text", { class: "row-name", x: place(high) - 6, y: y + 4 }, `deg ${step.degree}`);
    step.spectrum.forEach((extent, k) => {
      const kind = k < step.vanishing ? "extent vanishing" : "extent";
      const circle = add(svg, "circle", { class: kind, cx: place(Math.log10(extent)), cy: y, r: 4.5 });
      add(circle, "title", {}, `degree ${step.degree}: ${extent.toPrecision(3)}`);
    });
  });
  add(svg, "line", { class: "tol", x1: line, x2: line, y1: AXIS - 2, y2: height });
  container.replaceChildren(svg);
}

function describe(degrees) {
  if (!degrees.length) return "No extents.";
  return degrees
    .map(({ degree, spectrum, vanishing }) => {
      const listed = spectrum.slice(0, 6).map((extent) => extent.toPrecision(2)).join(", ");
      return `Degree ${degree}: ${vanishing} of ${spectrum.length} vanish; extents ${listed || "none"}.`;
    })
    .join(" ");
}
