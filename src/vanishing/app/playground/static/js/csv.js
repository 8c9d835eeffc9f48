// Two columns of a table as points, and points as a table.

export class BadTable extends Error {}

// Points of X and Y, scaled into [-size, size]; rows with gaps are left out. Those that belong to
// `group` are Y.
export function tableToPoints({ columns }, { x, y, group }, size) {
  const chosen = [columns[x], columns[y]];
  const rows = chosen[0].numbers.map((_, row) => row).filter((row) => chosen.every(({ numbers }) => numbers[row] !== null));
  if (rows.length === 0) throw new BadTable("No row has a number in both columns.");
  const scaling = chosen.map(({ name, numbers }) => {
    const values = rows.map((row) => numbers[row]);
    const [low, high] = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
    return { name, center: (low + high) / 2, scale: (high - low) / (2 * size) || 1 };
  });
  const points = { x: [], y: [] };
  for (const row of rows) {
    const isContrast = group && columns[group.column].members[row] === group.value;
    points[isContrast ? "y" : "x"].push(chosen.map(({ numbers }, k) => (numbers[row] - scaling[k].center) / scaling[k].scale));
  }
  return { points, scaling, kept: rows.length };
}

export function pointsToText({ x, y }) {
  const line = (set) => (point) => `${point.map((c) => Number(c.toPrecision(9))).join(",")},${set}`;
  return ["x,y,set", ...x.map(line("X")), ...y.map(line("Y")), ""].join("\n");
}
