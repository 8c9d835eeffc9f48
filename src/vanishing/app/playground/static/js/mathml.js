// Equations as MathML, one element a term so that long ones are broken between lines.

import { numberParts, numberText } from "./numbers.js";

const MATHML = "http://www.w3.org/1998/Math/MathML";
const VARIABLES = ["x", "y"];

function element(name, ...children) {
  const made = document.createElementNS(MATHML, name);
  made.append(...children);
  return made;
}

function numberElement(size, digits) {
  const [mantissa, exponent] = numberParts(size, digits);
  if (exponent === undefined) return [element("mn", mantissa)];
  const power = element("msup", element("mn", "10"), element("mn", String(exponent).replace("-", "−")));
  return [element("mn", mantissa), element("mo", "×"), power];
}

function term({ coefficient, digits, powers }, isFirst) {
  const factors = powers.flatMap((power, k) => {
    if (power === 0) return [];
    const variable = element("mi", VARIABLES[k]);
    return power === 1 ? [variable] : [element("msup", variable, element("mn", String(power)))];
  });
  const sign = coefficient < 0 ? "−" : "+";
  const signs = isFirst && sign === "+" ? [] : [element("mo", sign)];
  signs[0]?.setAttribute("form", isFirst ? "prefix" : "infix");
  const isOne = numberText(Math.abs(coefficient), digits) === "1";
  const size = isOne && factors.length ? [] : numberElement(Math.abs(coefficient), digits);
  return element("math", element("mrow", ...signs, ...size, ...factors));
}

// The terms that count on the points, highest degree first. Which ones they are, and with how many
// digits, is decided where the points are known.
function terms(exponents, { coefficients, terms: chosen }) {
  return [...chosen]
    .sort(([a], [b]) => a - b)
    .map(([k, digits]) => ({ powers: exponents[k], coefficient: coefficients[k], digits }))
    .sort((a, b) => b.powers[0] + b.powers[1] - a.powers[0] - a.powers[1]);
}

export function equationText(exponents, equation) {
  const written = terms(exponents, equation).map(({ powers, coefficient, digits }, k) => {
    const factors = powers.map((p, v) => (p === 0 ? "" : VARIABLES[v] + (p === 1 ? "" : `^${p}`))).join("");
    const sign = coefficient < 0 ? "− " : k === 0 ? "" : "+ ";
    const size = numberText(Math.abs(coefficient), digits);
    return sign + [factors && size === "1" ? "" : size, factors].filter(Boolean).join(" ");
  });
  return `${written.join(" ") || "0"} = 0`;
}

export function equationElement(exponents, equation) {
  const formula = document.createElement("span");
  formula.className = "formula";
  formula.setAttribute("role", "math");
  formula.setAttribute("aria-label", equationText(exponents, equation));
  const pieces = terms(exponents, equation).map((written, k) => term(written, k === 0));
  const equals = element("mo", "=");
  equals.setAttribute("form", "infix");
  pieces.push(element("math", element("mrow", equals, element("mn", "0"))));
  for (const piece of pieces) {
    const span = document.createElement("span");
    span.className = "term";
    span.append(piece);
    formula.append(span);
  }
  return formula;
}
