// Choosing two columns of a file, and which of its rows are the contrast.

import { BadTable, readTable, tableToPoints } from "./csv.js";

const SIZE = 1.25;
const MOST_POINTS = 2000;
const MOST_GROUPS = 12;

const byId = (id) => document.getElementById(id);

// `use({ points, scaling, grouped, kept, usable })`, `complain(message)`
export function attachCsv({ use, complain, mostPoints }) {
  const [input, dialog] = [byId("csv-file"), byId("csv-dialog")];
  let table = null;
  let groups = [];

  async function open(file) {
    if (!file) return;
    try {
      table = await readTable(file);
    } catch (error) {
      complain(`${file.name}: ${error instanceof BadTable ? error.message : "the file could not be read."}`);
      return;
    }
    byId("csv-name").textContent = file.name;
    byId("csv-summary").textContent = `${table.nRows} rows, ${table.columns.length} columns.`;
    const numeric = table.columns.flatMap(({ numbers }, k) => (numbers ? [k] : []));
    fill(byId("csv-x"), numeric.map((k) => [k, table.columns[k].name]), numeric[0]);
    fill(byId("csv-y"), numeric.map((k) => [k, table.columns[k].name]), numeric[1]);
    groups = [null, ...findGroups(table)];
    fill(byId("csv-group"), groups.map((group, k) => [k, describe(group)]), groups.length > 1 ? groups.length - 1 : 0);
    dialog.returnValue = "";
    dialog.showModal();
  }

  const describe = (group) => (group
    ? `those with ${table.columns[group.column].name} = ${group.value || "(nothing)"}`
    : "none: shuffle the columns of X instead");

  byId("open-csv").addEventListener("click", () => input.click());
  input.addEventListener("change", async () => {
    await open(input.files[0]);
    input.value = "";
  });
  byId("csv-cancel").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => {
    if (dialog.returnValue !== "use") return;
    const group = groups[Number(byId("csv-group").value)];
    const columns = { x: Number(byId("csv-x").value), y: Number(byId("csv-y").value), group };
    const limits = { size: SIZE, most: Math.min(MOST_POINTS, Math.floor(mostPoints / 2)) };
    try {
      use({ ...tableToPoints(table, columns, limits), grouped: group !== null });
    } catch (error) {
      complain(error.message);
    }
  });

  for (const type of ["dragover", "drop"]) {
    document.addEventListener(type, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      if (type === "drop") open(event.dataTransfer.files[0]);
    });
  }
}

function fill(select, options, chosen) {
  select.replaceChildren(...options.map(([value, text]) => new Option(text, value, false, value === chosen)));
}

// Values of columns with few of them: each is a way to part the rows.
function findGroups({ columns, nRows }) {
  return columns.flatMap(({ texts }, column) => {
    const values = [...new Set(texts)];
    const tells = values.length > 1 && values.length <= MOST_GROUPS && values.length < nRows / 2;
    return tells ? values.sort().map((value) => ({ column, value })) : [];
  });
}
