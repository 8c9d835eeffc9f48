// Images of 8 × 8 pixels: as text, turned, and on a canvas.

import { rgb } from "./theme.js";

export const SIDE = 8;
const LEVELS = 16;
const ZERO = 48; // the code of "0"

export function fromText(text) {
  if (!/^[0-@]{64}$/.test(text)) throw new Error("not an image");
  return Array.from(text, (character) => (character.charCodeAt(0) - ZERO) / LEVELS);
}

export function toText(image) {
  return image.map((grey) => String.fromCharCode(ZERO + Math.round(LEVELS * grey))).join("");
}

// Counterclockwise, as the detector does it.
export function turned(image) {
  return image.map((_, k) => {
    const [row, column] = [Math.floor(k / SIDE), k % SIDE];
    return image[column * SIDE + (SIDE - 1 - row)];
  });
}

function paint(canvas, colorOf) {
  canvas.width = canvas.height = SIDE;
  const data = new ImageData(SIDE, SIDE);
  for (let k = 0; k < SIDE * SIDE; k++) data.data.set([...colorOf(k), 255], 4 * k);
  canvas.getContext("2d").putImageData(data, 0, 0);
}

const mixed = (from, to, share) => from.map((value, c) => value + share * (to[c] - value));

export function paintImage(canvas, image) {
  const [paper, ink] = [rgb("surface"), rgb("ink")];
  paint(canvas, (k) => mixed(paper, ink, Math.min(1, Math.max(0, image[k]))));
}

// Shares over a faint image: blue takes away from the score, orange adds to it.
export function paintAttribution(canvas, image, attribution) {
  const [paper, ink, less, more] = ["surface", "ink", "less", "more"].map(rgb);
  const largest = Math.max(...attribution.map(Math.abs)) || 1;
  paint(canvas, (k) => {
    const faint = mixed(paper, ink, 0.22 * image[k]);
    return mixed(faint, attribution[k] > 0 ? more : less, Math.abs(attribution[k]) / largest);
  });
}
