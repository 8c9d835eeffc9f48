// One side of the page: picture, spectrum and equations of one fit.

import { equationElement } from "./mathml.js";
import { numberText } from "./numbers.js";
import { Plot } from "./plot.js";
import { drawSpectrum } from "./spectrum.js";

// In short above the picture, and in full below it.
const SHORT = {
  "no-points": "no points of X",
  "no-contrast": "no points of Y",
  "contrast-within": "nothing tells them apart",
};
const PROBLEMS = {
  "no-points": "There are no points of X. Draw some, or choose a curve.",
  "no-contrast": "There are no points of Y to contrast with. Draw some, or choose a source.",
  "contrast-within": "Whatever vanishes on X also vanishes on Y: no equation of this degree distinguishes them.",
};
const PLAIN_AXES = ["x", "y"].map((name) => ({ name, center: 0, scale: 1 }));
const TELLS = 10; // times as large on Y as on X
const SAME = 3;

export class Panel {
  constructor(section, { faintContrast, slider }) {
    this.section = section;
    this.slider = slider;
    this.plot = new Plot(section.querySelector("canvas"), { faintContrast });
    this.chosen = 0;
    this.fitted = null;
    new ResizeObserver(() => { this.plot.paint(); this.#drawSpectrum(); }).observe(this.plot.canvas);
  }

  part(name) {
    return this.section.querySelector(`[data-part="${name}"]`);
  }

  // `tol` is shown at once, the fit that belongs to it when it is there.
  showTolerance(tol) {
    this.tol = tol;
    this.part("tol-value").textContent = numberText(tol, 2);
    this.#drawSpectrum();
  }

  // `columns` of a table, where the points are from one.
  showAxes(columns) {
    if (columns === this.columns) return;
    this.columns = columns;
    this.plot.axes = columns ?? PLAIN_AXES;
    this.plot.paint();
    this.plot.axes.forEach(({ name }, k) => {
      const variable = document.createElement("i");
      variable.textContent = "xy"[k];
      const arrow = "→↑"[k];
      this.part(`${"xy"[k]}-axis`).replaceChildren(...(columns ? [`${arrow} ${name}, `] : [`${arrow} `]), variable);
    });
  }

  showPoints(points, reach) {
    this.plot.points = points;
    if (this.plot.reach !== reach) this.plot.show(this.#drawable(), this.chosen, reach);
    this.plot.paint();
  }

  show(fitted, points, reach) {
    const equations = fitted.equations?.toSorted((a, b) => a.extent - b.extent);
    this.fitted = { ...fitted, equations };
    this.chosen = 0;
    this.plot.points = points;
    this.plot.show(this.#drawable(), this.chosen, reach);
    this.plot.paint();
    this.#drawSpectrum();
    this.#listEquations();
    this.#say();
  }

  #drawable() {
    return this.fitted && !this.fitted.problem ? this.fitted : null;
  }

  #choose(index) {
    this.chosen = index;
    this.plot.chosen = index;
    this.plot.paint();
    this.#say();
  }

  #drawSpectrum() {
    const ends = { low: Number(this.slider.min), high: Number(this.slider.max) };
    drawSpectrum(this.part("spectrum"), this.fitted?.degrees ?? [], this.tol ?? 0.1, ends);
  }

  #listEquations() {
    const equations = this.fitted.equations ?? [];
    const list = this.part("equations");
    this.part("count").textContent = `${equations.length || "none"} within the tolerance`;
    list.replaceChildren(...equations.map((equation, k) => this.#row(equation, k)));
  }

  #row(equation, index) {
    const { extent, onContrast } = equation;
    const row = document.createElement("label");
    row.className = "equation";
    const radio = document.createElement("input");
    Object.assign(radio, { type: "radio", name: `equation-${this.section.id}`, checked: index === this.chosen });
    radio.addEventListener("change", () => this.#choose(index));
    const sizes = document.createElement("div");
    sizes.className = "sizes";
    sizes.textContent = `size on X ${numberText(extent, 2)}${onContrast === null ? "" : `, on Y ${numberText(onContrast, 2)}`}`;
    const body = document.createElement("div");
    body.append(equationElement(this.fitted.exponents, equation), sizes);
    row.append(radio, body);
    return row;
  }

  // Why there is nothing to see; empty if there is something.
  #problem() {
    if (this.fitted.problem) return PROBLEMS[this.fitted.problem];
    if (this.fitted.equations.length) return "";
    const least = Math.min(...this.fitted.degrees.flatMap(({ spectrum }) => spectrum));
    const smallest = Number.isFinite(least) ? `: the smallest extent is ${numberText(least, 2)}` : "";
    return `No equation is within the tolerance${smallest}. Raise the tolerance or the degree.`;
  }

  #say() {
    const problem = this.part("problem");
    problem.textContent = this.#problem();
    problem.hidden = problem.textContent === "";
    const verdict = this.part("verdict");
    const equation = this.fitted.equations?.[this.chosen];
    if (!equation) {
      verdict.textContent = SHORT[this.fitted.problem] ?? "no equation within the tolerance";
      return;
    }
    if (equation.onContrast === null) {
      verdict.replaceChildren();
      return;
    }
    const ratio = equation.onContrast / Math.max(equation.extent, 1e-15);
    const times = document.createElement("b");
    times.textContent = ratio > 1e6 ? "over a million" : numberText(ratio, 2);
    const tells = ratio >= TELLS ? "tells them apart" : ratio < SAME ? "holds on both" : "smaller on X";
    verdict.replaceChildren(`${tells}: `, times, "× as large on Y");
  }
}
