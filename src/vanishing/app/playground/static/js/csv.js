// Tables out of text: commas, semicolons, tabs or bars; quotes as in RFC 4180; decimal commas.

export const LARGEST_FILE = 20e6;
const DELIMITERS = [",", ";", "\t", "|"];
const MISSING = new Set(["", "na", "nan", "n/a", "null", "none", "-", "?"]);

export class BadTable extends Error {}

export async function readTable(file) {
  if (file.size > LARGEST_FILE) {
    throw new BadTable(`The file has ${(file.size / 1e6).toFixed(0)} MB; at most ${LARGEST_FILE / 1e6} MB can be read here. Keep a part of its rows.`);
  }
  const bytes = await file.arrayBuffer();
  let text = new TextDecoder().decode(bytes);
  if (text.includes("\ufffd")) text = new TextDecoder("windows-1252").decode(bytes);
  return parseTable(text);
}

// { columns: [{ name, texts, numbers }], nRows }; `numbers` is null where a column has other things.
export function parseTable(text) {
  if (text.includes("\0")) throw new BadTable("This is not a text file. Save the table as CSV first.");
  const delimiter = bestDelimiter(text);
  const records = parseRecords(text, delimiter);
  if (records.length === 0) throw new BadTable("The file is empty. It needs two columns of numbers.");
  const width = records[0].fields.length;
  const ragged = records.find(({ fields }) => fields.length !== width);
  if (ragged) {
    throw new BadTable(`Line ${ragged.line} has ${counted(ragged.fields.length, "field")}, and line ${records[0].line} has ${width}. Every line needs as many.`);
  }
  const isHeader = records[0].fields.some((field) => !MISSING.has(field.trim().toLowerCase()) && Number.isNaN(toNumber(field, delimiter)));
  const names = records[0].fields.map((field, k) => (isHeader && field.trim()) || `column ${k + 1}`);
  const rows = records.slice(isHeader ? 1 : 0);
  const columns = names.map((name, k) => {
    const texts = rows.map(({ fields }) => fields[k].trim());
    return { name, texts, numbers: toNumbers(texts, delimiter) };
  });
  const numeric = columns.filter(({ numbers }) => numbers);
  if (numeric.length < 2) {
    const found = numeric.length ? `only ${JSON.stringify(numeric[0].name)} is one` : "there is none";
    throw new BadTable(`Two columns of numbers are needed, and ${found} among ${counted(columns.length, "column")} and ${counted(rows.length, "row")}.`);
  }
  return { columns, nRows: rows.length };
}

const counted = (number, thing) => `${number} ${thing}${number === 1 ? "" : "s"}`;

function toNumber(text, delimiter) {
  let plain = text.trim().replace("−", "-");
  if (delimiter !== "," && /^[+-]?\d*,\d+(e[+-]?\d+)?$/i.test(plain)) plain = plain.replace(",", ".");
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) ? Number(plain) : NaN;
}

function toNumbers(texts, delimiter) {
  const numbers = texts.map((text) => (MISSING.has(text.toLowerCase()) ? null : toNumber(text, delimiter)));
  const given = numbers.filter((value) => value !== null);
  return given.length > 0 && given.every(Number.isFinite) ? numbers : null;
}

// The one that splits the first lines into most fields, as many in each.
function bestDelimiter(text) {
  const start = text.slice(0, 20000);
  let [best, mostFields] = [",", 1];
  for (const delimiter of DELIMITERS) {
    let records;
    try {
      records = parseRecords(start, delimiter);
    } catch {
      continue;
    }
    // The last line may be cut off.
    const widths = records.slice(0, Math.max(1, Math.min(20, records.length - 1))).map(({ fields }) => fields.length);
    const fewest = Math.min(...widths);
    if (fewest > mostFields) [best, mostFields] = [delimiter, fewest];
  }
  return best;
}

function parseRecords(text, delimiter) {
  const records = [];
  let [fields, field, quoted, line, start] = [[], "", false, 1, 1];
  const endField = () => { fields.push(field); field = ""; };
  const endRecord = () => {
    endField();
    if (fields.length > 1 || fields[0].trim() !== "") records.push({ fields, line: start });
    fields = [];
  };
  for (let i = text.startsWith("\ufeff") ? 1 : 0; i < text.length; i++) {
    const character = text[i];
    if (character === "\n") line++;
    if (quoted) {
      if (character !== '"') field += character;
      else if (text[i + 1] === '"') { field += '"'; i++; }
      else quoted = false;
    } else if (character === '"' && field === "") quoted = true;
    else if (character === delimiter) endField();
    else if (character === "\n" || character === "\r") {
      if (character === "\r" && text[i + 1] === "\n") continue;
      endRecord();
      start = line;
    } else field += character;
  }
  if (quoted) throw new BadTable(`A quotation mark that is opened in line ${start} is never closed.`);
  if (field !== "" || fields.length) endRecord();
  return records;
}

// Two columns as points of X and Y, scaled into [-size, size]; rows with gaps are left out.
export function tableToPoints({ columns }, { x, y, group }, { size, most }) {
  const chosen = [columns[x], columns[y]];
  const rows = chosen[0].numbers.map((_, row) => row).filter((row) => chosen.every(({ numbers }) => numbers[row] !== null));
  if (rows.length === 0) throw new BadTable("No row has a number in both columns.");
  const scaling = chosen.map(({ name, numbers }) => {
    const values = rows.map((row) => numbers[row]);
    const [low, high] = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
    return { name, center: (low + high) / 2, scale: (high - low) / (2 * size) || 1 };
  });
  const step = Math.max(1, rows.length / most);
  const kept = Array.from({ length: Math.min(rows.length, most) }, (_, k) => rows[Math.floor(k * step)]);
  const points = { x: [], y: [] };
  for (const row of kept) {
    const isContrast = group && columns[group.column].texts[row] === group.value;
    points[isContrast ? "y" : "x"].push(chosen.map(({ numbers }, k) => (numbers[row] - scaling[k].center) / scaling[k].scale));
  }
  return { points, scaling, kept: kept.length, usable: rows.length };
}

export function pointsToText({ x, y }) {
  const line = (set) => (point) => `${point.map((c) => Number(c.toPrecision(9))).join(",")},${set}`;
  return ["x,y,set", ...x.map(line("X")), ...y.map(line("Y")), ""].join("\n");
}
