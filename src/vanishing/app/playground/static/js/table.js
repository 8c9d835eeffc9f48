// A table whose broken cells are marked, each broken row with a sentence below it.

// `found`: columns, numbers and rows of the table, findings
export function showTable(table, { columns, numbers, rows, findings }, { onlyBroken }) {
  const byRow = Map.groupBy(findings, ({ row }) => row);
  const head = document.createElement("tr");
  head.append(cell("th", "row", { scope: "col" }));
  for (const { name, isNumber } of columns) {
    head.append(cell("th", name, { scope: "col", title: name, className: isNumber ? "" : "text" }));
  }
  const body = document.createElement("tbody");
  numbers.forEach((number, k) => {
    const about = byRow.get(number) ?? [];
    if (onlyBroken && !about.length) return;
    body.append(rowOf(number, rows[k], columns, about), ...about.map((finding) => reason(finding, columns.length)));
  });
  const top = document.createElement("thead");
  top.append(head);
  table.replaceChildren(top, body);
}

function cell(tag, text, properties = {}) {
  const made = Object.assign(document.createElement(tag), properties);
  made.textContent = text;
  return made;
}

function rowOf(number, texts, columns, about) {
  const row = document.createElement("tr");
  row.dataset.row = number;
  if (about.length) row.className = about.every(({ kind }) => kind !== "broken") ? "bad filled" : "bad";
  row.append(cell("th", String(number + 1), { scope: "row" }));
  const fixes = new Map();
  for (const { kind, fixes: certain, alternatives } of about) {
    for (const fix of certain) fixes.set(fix.column, { ...fix, kind: kind !== "broken" ? "filled" : alternatives.length ? "perhaps" : "wrong" });
    for (const fix of alternatives) fixes.set(fix.column, { ...fix, kind: "perhaps" });
  }
  texts.forEach((text, j) => {
    const { name, isNumber } = columns[j];
    const made = cell("td", text, { className: isNumber ? "" : "text" });
    if (!isNumber) made.title = text;
    const fix = fixes.get(name);
    if (fix) mark(made, fix, text);
    row.append(made);
  });
  return row;
}

// What is wrong is struck out, and followed by what it should be.
function mark(made, { fix, kind }, text) {
  made.classList.add(kind);
  const better = document.createElement("ins");
  better.textContent = fix;
  const now = document.createElement("s");
  now.textContent = text;
  made.replaceChildren(...(text ? [now, " "] : []), ...(fix ? [better] : []));
}

function reason({ sentence, kind }, nColumns) {
  const row = document.createElement("tr");
  row.className = kind === "broken" ? "why" : "why filled";
  const said = cell("span", sentence, { className: "sentence" });
  const wide = cell("td", "", { colSpan: nColumns });
  wide.append(said);
  row.append(cell("td", "", { className: "margin" }), wide);
  return row;
}

// Brings a row into the middle of what is seen, without moving the page.
export function scrollToRow(container, number) {
  for (const other of container.querySelectorAll(".chosen")) other.classList.remove("chosen");
  const row = container.querySelector(`tr[data-row="${number}"]`);
  if (!row) return;
  for (let each = row; each && (each === row || each.classList.contains("why")); each = each.nextElementSibling) each.classList.add("chosen");
  const marked = row.querySelector(".wrong, .perhaps, .filled") ?? row;
  const [box, seen] = [marked.getBoundingClientRect(), container.getBoundingClientRect()];
  container.scrollTop += box.top - seen.top - seen.height / 2;
  if (box.right > seen.right || box.left < seen.left) container.scrollLeft += (box.left + box.right) / 2 - seen.left - seen.width / 2;
}
