// Polynomials in two variables on a square grid, and where they are zero.

// Values on the grid of `size` × `size` nodes over [-reach, reach]², top row first.
export function onGrid(exponents, coefficients, reach, size) {
  const degree = exponents.reduce((most, [i, j]) => Math.max(most, i + j), 0);
  // table[i][j] is the coefficient of x^i y^j
  const table = Array.from({ length: degree + 1 }, () => new Float64Array(degree + 1));
  exponents.forEach(([i, j], k) => { table[i][j] += coefficients[k]; });

  const values = new Float64Array(size * size);
  const inX = new Float64Array(degree + 1);
  const step = (2 * reach) / (size - 1);
  for (let row = 0; row < size; row++) {
    const y = reach - row * step;
    for (let i = 0; i <= degree; i++) {
      let sum = 0;
      for (let j = degree - i; j >= 0; j--) sum = sum * y + table[i][j];
      inX[i] = sum;
    }
    for (let column = 0; column < size; column++) {
      const x = -reach + column * step;
      let sum = 0;
      for (let i = degree; i >= 0; i--) sum = sum * x + inX[i];
      values[row * size + column] = sum;
    }
  }
  return values;
}

// Line segments along the zero set, by marching squares: [x0, y0, x1, y1, ...] in units of cells.
export function zeroSet(values, size) {
  const segments = [];
  const crossing = (a, b) => a / (a - b);
  for (let row = 0; row < size - 1; row++) {
    for (let column = 0; column < size - 1; column++) {
      const at = row * size + column;
      const [nw, ne, sw, se] = [values[at], values[at + 1], values[at + size], values[at + size + 1]];
      const index = (nw > 0) | ((ne > 0) << 1) | ((se > 0) << 2) | ((sw > 0) << 3);
      if (index === 0 || index === 15) continue;
      const top = [column + crossing(nw, ne), row];
      const bottom = [column + crossing(sw, se), row + 1];
      const left = [column, row + crossing(nw, sw)];
      const right = [column + 1, row + crossing(ne, se)];
      const add = (p, q) => segments.push(p[0], p[1], q[0], q[1]);
      switch (index) {
        case 1: case 14: add(left, top); break;
        case 2: case 13: add(top, right); break;
        case 4: case 11: add(right, bottom); break;
        case 8: case 7: add(bottom, left); break;
        case 3: case 12: add(left, right); break;
        case 6: case 9: add(top, bottom); break;
        default: { // two opposite corners are positive: the middle decides which ones are joined
          const middlePositive = nw + ne + sw + se > 0;
          if ((index === 5) === middlePositive) { add(top, right); add(bottom, left); }
          else { add(left, top); add(right, bottom); }
        }
      }
    }
  }
  return segments;
}

// The median of the absolute values: what is typical in the picture, where corners may be huge.
export function typicalSize(values) {
  const some = Float64Array.from({ length: 1000 }, (_, k) => Math.abs(values[Math.floor((k * values.length) / 1000)]));
  return some.sort()[500];
}
