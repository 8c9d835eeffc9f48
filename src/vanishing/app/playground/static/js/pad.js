// Drawing on an image of 8 × 8 pixels, with mouse, finger or keyboard.

import { SIDE, paintImage } from "./pixels.js";
import { color } from "./theme.js";

const SCALE = 40; // pixels of the canvas to one of the image
const WIDTH = 0.85; // of the brush, in pixels of the image

// `actions`: begin(), change(image), announce(text)
export class Pad {
  constructor(canvas, actions) {
    this.canvas = canvas;
    this.actions = actions;
    this.image = new Array(SIDE * SIDE).fill(0);
    this.cursor = null;
    this.small = document.createElement("canvas");
    let last = null;

    const at = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top].map((p) => (p / box.width) * SIDE);
    };
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      canvas.focus({ preventScroll: true });
      canvas.setPointerCapture(event.pointerId);
      this.cursor = null;
      last = at(event);
      this.#dab(last);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!canvas.hasPointerCapture(event.pointerId)) return;
      for (const each of event.getCoalescedEvents?.() ?? [event]) {
        const next = at(each);
        const steps = Math.ceil(Math.hypot(next[0] - last[0], next[1] - last[1]) / 0.3);
        for (let k = 1; k <= steps; k++) this.#dab(last.map((c, i) => c + (k / steps) * (next[i] - c)));
        last = next;
      }
    });
    canvas.addEventListener("keydown", (event) => this.#key(event));
    canvas.addEventListener("focus", () => {
      if (canvas.matches(":focus-visible")) this.cursor ??= [3, 3];
      this.paint();
    });
    canvas.addEventListener("blur", () => this.paint());
  }

  show(image) {
    this.image = [...image];
    this.paint();
  }

  paint() {
    paintImage(this.small, this.image);
    this.canvas.width = this.canvas.height = SIDE * SCALE;
    const context = this.canvas.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.drawImage(this.small, 0, 0, SIDE * SCALE, SIDE * SCALE);
    if (this.cursor && document.activeElement === this.canvas) {
      context.strokeStyle = color("accent");
      context.lineWidth = 5;
      context.strokeRect(this.cursor[0] * SCALE + 3, this.cursor[1] * SCALE + 3, SCALE - 6, SCALE - 6);
    }
  }

  #erases() {
    return document.querySelector("input[name=brush]:checked").value === "erase";
  }

  // A soft round brush: most at the centre, nothing two pixels away.
  #dab([x, y], erase = this.#erases()) {
    this.image = this.image.map((grey, k) => {
      const distance = Math.hypot((k % SIDE) + 0.5 - x, Math.floor(k / SIDE) + 0.5 - y);
      const amount = Math.max(0, Math.min(1, 1.25 * Math.exp(-((distance / WIDTH) ** 2)) - 0.12));
      return erase ? Math.min(grey, 1 - amount) : Math.max(grey, amount);
    });
    this.paint();
    this.actions.change(this.image);
  }

  #key(event) {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    this.cursor ??= [3, 3];
    if (moves[event.key]) {
      this.cursor = this.cursor.map((c, i) => Math.max(0, Math.min(SIDE - 1, c + moves[event.key][i])));
      this.actions.announce(`column ${this.cursor[0] + 1}, row ${this.cursor[1] + 1}`);
      this.paint();
    } else if (event.key === " " || event.key === "Enter") {
      this.#dab(this.cursor.map((c) => c + 0.5));
    } else if (event.key === "Delete" || event.key === "Backspace") {
      this.#dab(this.cursor.map((c) => c + 0.5), true);
    } else {
      return;
    }
    event.preventDefault();
  }
}
