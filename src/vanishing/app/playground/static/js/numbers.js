// Numbers as people write them.

const DIGITS = 3;
const RAISED = { "-": "⁻", ...Object.fromEntries([..."⁰¹²³⁴⁵⁶⁷⁸⁹"].map((raised, k) => [k, raised])) };

export function superscript(exponent) {
  return [...String(exponent)].map((character) => RAISED[character]).join("");
}

// Mantissa and exponent; no exponent where the number is not far off.
export function numberParts(value, digits = DIGITS) {
  const size = Math.abs(value);
  if (value === 0 || (size >= 1e-3 && size < 1e5)) return [String(Number(value.toPrecision(digits))).replace("-", "−")];
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e").map(Number);
  return [String(mantissa).replace("-", "−"), exponent];
}

export function numberText(value, digits) {
  const [mantissa, exponent] = numberParts(value, digits);
  return exponent === undefined ? mantissa : `${mantissa} × 10${superscript(exponent)}`;
}
