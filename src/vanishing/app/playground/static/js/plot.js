// One picture: the signs of a polynomial, zero sets, points, axes and the keyboard's cursor.

import { numberText } from "./numbers.js";
import { onGrid, typicalSize, zeroSet } from "./polynomial.js";
import { color, rgb } from "./theme.js";

const GRID = 181;
const POINT = 3.4;
// The sign is shown in full colour this many extents away from where the equation holds, but
// the light band is never narrower than this share of a typical value.
const NEAR = 2;
const LEAST_NEAR = 0.03;

const LINES = 6; // of an axis, at most; and of a small picture
const FEW_LINES = 4;
const SMALL = 260;

export class Plot {
  constructor(canvas, { faintContrast }) {
    this.canvas = canvas;
    this.faintContrast = faintContrast;
    this.reach = 1.5;
    this.field = document.createElement("canvas");
    this.field.width = this.field.height = GRID;
    this.cursor = null;
    this.fitted = null;
    this.points = { x: [], y: [] };
    this.axes = [0, 1].map(() => ({ center: 0, scale: 1 }));
  }

  // The polynomials of a fit, evaluated once; `chosen` is the index of the one that is coloured.
  show(fitted, chosen, reach) {
    this.reach = reach;
    this.fitted = fitted && fitted.equations.length ? fitted : null;
    this.chosen = chosen;
    this.values = this.fitted?.equations.map(
      (equation) => onGrid(fitted.exponents, equation.coefficients, reach, GRID),
    ) ?? [];
    this.zeros = this.values.map((values) => zeroSet(values, GRID));
  }

  // Where a point of the plane is on the canvas, in CSS pixels, and back.
  toPixel([x, y]) {
    const side = this.canvas.clientWidth;
    return [((x / this.reach + 1) * side) / 2, ((1 - y / this.reach) * side) / 2];
  }

  toPlane(px, py) {
    const side = this.canvas.clientWidth;
    return [((2 * px) / side - 1) * this.reach, (1 - (2 * py) / side) * this.reach];
  }

  paint() {
    const side = this.canvas.clientWidth;
    this.canvas.dataset.reach = this.reach;
    if (!side) return;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const pixels = Math.round(side * ratio);
    if (this.canvas.width !== pixels) this.canvas.width = this.canvas.height = pixels;
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = color("near");
    context.fillRect(0, 0, side, side);
    if (this.fitted) this.#paintSigns(context, side);
    this.#paintAxes(context, side);
    this.zeros?.forEach((segments, index) => {
      if (index !== this.chosen) this.#paintZeros(context, side, segments, 1.1, 0.4);
    });
    this.#paintPoints(context, side);
    if (this.fitted) this.#paintZeros(context, side, this.zeros[this.chosen], 2.4, 1);
    if (this.cursor && document.activeElement === this.canvas) this.#paintCursor(context, side);
  }

  #paintSigns(context, side) {
    const values = this.values[this.chosen];
    const near = Math.max(
      NEAR * this.fitted.equations[this.chosen].extent,
      LEAST_NEAR * typicalSize(values),
      Number.MIN_VALUE,
    );
    const paper = rgb("near");
    const tints = [rgb("negative"), rgb("positive")];
    const image = new ImageData(GRID, GRID);
    const { data } = image;
    for (let i = 0; i < values.length; i++) {
      const ratio = values[i] / near;
      const share = (ratio * ratio) / (1 + ratio * ratio);
      const tint = tints[values[i] > 0 ? 1 : 0];
      for (let c = 0; c < 3; c++) data[4 * i + c] = paper[c] + share * (tint[c] - paper[c]);
      data[4 * i + 3] = 255;
    }
    this.field.getContext("2d").putImageData(image, 0, 0);
    // Nodes of the grid are at its edges, pixels of an image around their centres.
    const cell = side / (GRID - 1);
    context.imageSmoothingQuality = "high";
    context.drawImage(this.field, -cell / 2, -cell / 2, side + cell, side + cell);
  }

  // Lines and numbers are at round values of the data, which the picture shows as
  // (value - center) / scale.
  #paintAxes(context, side) {
    context.lineWidth = 1;
    context.font = `11px ${color("sans")}`;
    context.fillStyle = color("soft");
    context.strokeStyle = color("line-strong");
    this.axes.forEach(({ center, scale }, k) => {
      const step = roundStep((2 * this.reach * scale) / (side < SMALL ? FEW_LINES : LINES));
      const [low, high] = [-1, 1].map((sign) => (center + sign * this.reach * scale) / step);
      for (let n = Math.ceil(low); n <= high; n++) {
        const place = (n * step - center) / scale;
        const at = Math.round(this.toPixel([place, place])[k]) + 0.5;
        context.globalAlpha = n === 0 ? 0.55 : 0.22;
        context.beginPath();
        context.moveTo(...(k ? [0, at] : [at, 0]));
        context.lineTo(...(k ? [side, at] : [at, side]));
        context.stroke();
        context.globalAlpha = 1;
        const text = tickText(n * step, step);
        const isFree = Math.abs(place) < 0.94 * this.reach; // of the corners
        const fits = k || at + 3 + context.measureText(text).width < side - 4;
        if (isFree && fits) context.fillText(text, ...(k ? [4, at - 3] : [at + 3, side - 4]));
      }
    });
  }

  #paintZeros(context, side, segments, width, alpha) {
    const scale = side / (GRID - 1);
    context.beginPath();
    for (let i = 0; i < segments.length; i += 4) {
      context.moveTo(segments[i] * scale, segments[i + 1] * scale);
      context.lineTo(segments[i + 2] * scale, segments[i + 3] * scale);
    }
    context.lineCap = "round";
    context.lineWidth = width;
    context.strokeStyle = color("ink");
    context.globalAlpha = alpha;
    context.stroke();
    context.globalAlpha = 1;
  }

  #paintPoints(context, side) {
    const size = POINT * Math.min(1, 0.45 + side / 900) * (this.points.x.length + this.points.y.length > 1200 ? 0.6 : 1);
    context.globalAlpha = this.faintContrast ? 0.6 : 0.95;
    context.fillStyle = color("y-point");
    context.beginPath();
    for (const point of this.points.y) {
      const [px, py] = this.toPixel(point);
      context.moveTo(px, py - 1.25 * size);
      context.lineTo(px + 1.1 * size, py + 0.8 * size);
      context.lineTo(px - 1.1 * size, py + 0.8 * size);
      context.closePath();
    }
    context.fill();
    context.globalAlpha = 0.95;
    context.fillStyle = color("x");
    context.beginPath();
    for (const point of this.points.x) {
      const [px, py] = this.toPixel(point);
      context.moveTo(px + size, py);
      context.arc(px, py, size, 0, 2 * Math.PI);
    }
    context.fill();
    context.globalAlpha = 1;
  }

  #paintCursor(context) {
    const [px, py] = this.toPixel(this.cursor);
    context.strokeStyle = color("accent");
    context.lineWidth = 2;
    context.beginPath();
    context.arc(px, py, 9, 0, 2 * Math.PI);
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      context.moveTo(px + 5 * dx, py + 5 * dy);
      context.lineTo(px + 15 * dx, py + 15 * dy);
    }
    context.stroke();
  }
}

// 1, 2 or 5 times a power of ten, and not less than `length`.
function roundStep(length) {
  const power = 10 ** Math.floor(Math.log10(length));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= 0.999 * length);
}

// A multiple of `step`, with as many digits as that takes.
function tickText(value, step) {
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  if (Math.abs(value) < 1e6 && decimals <= 4) return value.toFixed(decimals).replace("-", "−");
  return numberText(value, Math.min(15, 1 + Math.max(0, Math.round(Math.log10(Math.abs(value) / step || 1)))));
}
