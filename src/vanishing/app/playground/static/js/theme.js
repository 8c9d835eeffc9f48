// Colours of the style sheet, for what is painted on a canvas.

const dark = matchMedia("(prefers-color-scheme: dark)");

export function onThemeChange(callback) {
  dark.addEventListener("change", callback);
}

export function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// A colour "#rrggbb" as three numbers.
export function rgb(name) {
  const value = parseInt(color(name).slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}
