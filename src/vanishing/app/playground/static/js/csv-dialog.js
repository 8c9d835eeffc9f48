// Choosing two columns of a file, and what the contrast is.

import { askColumns } from "./api.js";
import { BadTable, tableToPoints } from "./csv.js";

const SIZE = 1.25;

const byId = (id) => document.getElementById(id);

// `use({ points, scaling, made, kept, nRows })`; `made`: contrasts that are made of X, by their names
export function attachCsv({ use, complain, made, mostBytes }) {
  const [input, dialog] = [byId("csv-file"), byId("csv-dialog")];
  let table = null;
  let contrasts = [];

  async function open(file) {
    if (!file) return;
    try {
      table = await askColumns(file, mostBytes);
    } catch (error) {
      complain(`${file.name}: ${error.message}`);
      return;
    }
    byId("csv-name").textContent = file.name;
    byId("csv-summary").textContent = `${table.nRows} rows, ${table.columns.length} columns.`;
    const numeric = table.columns.flatMap(({ numbers }, k) => (numbers ? [k] : []));
    fill(byId("csv-x"), numeric.map((k) => [k, table.columns[k].name]), numeric[0]);
    fill(byId("csv-y"), numeric.map((k) => [k, table.columns[k].name]), numeric[1]);
    contrasts = [{ text: "none" }, ...findGroups(table), ...Object.entries(made).map(([name, text]) => ({ made: name, text }))];
    fill(byId("csv-group"), contrasts.map(({ text }, k) => [k, text]), 0);
    dialog.returnValue = "";
    dialog.showModal();
  }

  byId("open-csv").addEventListener("click", () => input.click());
  input.addEventListener("change", async () => {
    await open(input.files[0]);
    input.value = "";
  });
  byId("csv-cancel").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => {
    if (dialog.returnValue !== "use") return;
    const contrast = contrasts[Number(byId("csv-group").value)];
    const columns = { x: Number(byId("csv-x").value), y: Number(byId("csv-y").value), group: contrast.group };
    try {
      use({ ...tableToPoints(table, columns, SIZE), made: contrast.made, nRows: table.nRows });
    } catch (error) {
      if (!(error instanceof BadTable)) throw error;
      complain(`${byId("csv-name").textContent}: ${error.message}`);
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
function findGroups({ columns }) {
  return columns.flatMap(({ name, groups }, column) =>
    groups.map((text, value) => ({ group: { column, value }, text: `rows with ${name} = ${text || "(nothing)"}` })));
}
