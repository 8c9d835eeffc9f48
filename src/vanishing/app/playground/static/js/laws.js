// The page for laws: open a table, see its laws and the cells that break them.

import { ask, askLaws } from "./api.js";
import { announce, complain, settleComplaint } from "./messages.js";
import { numberText, superscript } from "./numbers.js";
import { saveFile } from "./save.js";
import { scrollToRow, showTable } from "./table.js";

const byId = (id) => document.getElementById(id);
const SAMPLE = { name: "accounts.csv", hash: "#example" };
const KINDS = { broken: "Broken cells", text: "Cells that are not numbers", missing: "Missing cells" };
const VIEW = document.getElementsByName("view");

const about = await ask("/api/about").catch((error) => {
  complain(error.message);
  throw error;
});
let searching = null; // the search under way: { controller }
let found = null; // what the server answered, with the name of the table
let chosenLaw = null;
let chosenFinding = null;

// --- asking --------------------------------------------------------------------------------------

async function open(file) {
  if (!file) return;
  searching?.controller.abort();
  const search = { controller: new AbortController() };
  searching = search;
  delete document.documentElement.dataset.settled;
  showProgress({ step: "read" });
  try {
    const answer = await askLaws(file, about.tableBytes, { signal: search.controller.signal, onProgress: showProgress });
    if (searching !== search) return;
    found = { ...answer, name: file.name };
    settleComplaint();
    show();
  } catch (error) {
    if (searching !== search) return;
    if (error.name === "AbortError") announce("Cancelled.");
    else complain(`${file.name}: ${error.message}`);
  } finally {
    if (searching === search) {
      searching = null;
      byId("working").hidden = true;
      document.documentElement.dataset.settled = "true";
    }
  }
}

async function openSample() {
  try {
    const response = await fetch(`/static/samples/${SAMPLE.name}`);
    if (!response.ok) throw new Error();
    await open(new File([await response.blob()], SAMPLE.name));
  } catch {
    complain("The example could not be loaded; is the server still running?");
  }
}

function showProgress({ step, share, found: n = 0 }) {
  const texts = {
    read: "Reading the table …",
    wait: "The server is busy with another table. Waiting …",
    search: n ? `${counted(n, "law")} found, looking for another …` : "Looking for a law …",
    check: `${counted(n, "law")} found. Checking the rows …`,
  };
  byId("working").hidden = false;
  byId("step").textContent = texts[step];
  if (share === undefined) byId("share").removeAttribute("value");
  else byId("share").value = share;
}

// --- showing -------------------------------------------------------------------------------------

const counted = (n, thing) => `${n} ${thing}${n === 1 ? "" : "s"}`;

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function show() {
  chosenLaw = null;
  chosenFinding = null;
  document.body.classList.add("has-table");
  byId("result").hidden = false;
  byId("table-name").textContent = found.name;
  byId("verdict").replaceChildren(...verdict());
  byId("coverage").textContent = found.coverage;
  byId("laws-hint").hidden = !found.laws.length;
  byId("laws").replaceChildren(...(found.laws.length ? found.laws.map(lawButton) : [noLaw()]));
  showFindings();
  byId("notes").replaceChildren(...found.notes.map((text) => element("li", {}, text)));
  byId("shell").textContent = shell();
  byId("python").textContent = python();
  byId("save-rules").hidden = !found.rules;
  byId("views").hidden = !found.findings.length;
  byId("view-broken").textContent = found.nBroken ? "broken rows" : "incomplete rows";
  VIEW[0].checked = true;
  showRows();
  scrollTo(0, 0);
  byId("scroll").scrollTo(0, 0);
  announce(`${byId("verdict").textContent} ${found.coverage}`);
}

function verdict() {
  const { laws, nRows, columns } = found;
  const size = `${counted(nRows, "row")}, ${counted(columns.length, "column")}: `;
  return [size, element("b", {}, laws.length ? counted(laws.length, "law") : "no law"), `. ${found.verdict}`];
}

function noLaw() {
  return element("p", {}, `${found.summary} No short equation between these columns holds better than by chance. More rows, or an additional column, may reveal one.`);
}

function lawButton(law, index) {
  const formula = element("span", { className: "formula" });
  const add = (terms) => terms.forEach((term, k) => formula.append(...termElements(term, k === 0)));
  if (law.left.length) {
    add(law.left);
    formula.append(" ", element("span", { className: "sign" }, "="), "\u00a0");
    add(law.right);
  } else formula.append(law.text);
  if (law.where) formula.append(" ", element("span", { className: "where" }, `where ${law.where}`));
  const [bits, noise, rows, breaks] = law.evidence;
  const meta = element("span", { className: "meta" }, [bits, noise, rows].filter(Boolean).join(" · "));
  if (breaks) meta.append(" · ", element("span", { className: "breaks" }, breaks));
  const button = element("button", { type: "button", className: "law" }, formula, meta);
  button.setAttribute("aria-pressed", "false");
  button.addEventListener("click", () => {
    chosenLaw = chosenLaw === index ? null : index;
    for (const [k, other] of [...byId("laws").children].entries()) other.setAttribute("aria-pressed", k === chosenLaw);
    markColumns();
  });
  return button;
}

// A term as HTML, which breaks between its factors, as names of columns may be long.
function termElements({ isNegative, number, powers }, isFirst) {
  const factors = powers.map(([name, power]) => {
    const column = element("span", { className: "column" }, name);
    return power === 1 ? [column] : [column, element("sup", {}, String(power))];
  });
  if (number) factors.unshift([readNumber(number)]);
  const term = element("span", { className: "term" });
  factors.forEach((factor, k) => {
    const times = number && k === 1 ? "\u202f" : " · ";
    term.append(...(k ? [times] : []), ...factor);
  });
  if (isFirst && isNegative) return ["−", term];
  if (isFirst) return [term];
  // A line may end before a sign, and not after it.
  term.prepend(element("span", { className: "sign" }, isNegative ? "−" : "+"), "\u00a0");
  return [" ", term];
}

// "1.5e-07", as Python writes it
function readNumber(text) {
  const [mantissa, exponent] = text.split("e");
  return exponent === undefined ? mantissa : `${mantissa} × 10${superscript(Number(exponent))}`;
}

// A list for each kind of finding; the server sends them in the same order.
function showFindings() {
  const { findings, nFindings } = found;
  const lists = Object.entries(KINDS).flatMap(([kind, title]) => {
    const items = findings.flatMap((finding, index) => (finding.kind === kind ? [findingItem(finding, index)] : []));
    if (!items.length) return [];
    const list = element("ul", { className: "findings" }, ...items);
    list.setAttribute("aria-labelledby", `${kind}-title`);
    return [element("h3", { id: `${kind}-title` }, title), list];
  });
  byId("findings").replaceChildren(...lists);
  byId("more-findings").hidden = findings.length === nFindings;
  byId("more-findings").textContent = `These are the first ${findings.length} of ${nFindings}.`;
}

function findingItem(finding, index) {
  const what = element("span", { className: "what" });
  const one = ({ column, value, fix }) => [`${column} `, value ? element("s", {}, value) : "is missing", ...(fix ? [" → ", element("ins", {}, fix)] : [])];
  if (!finding.fixes.length) what.append(finding.totalOf ? `is not the total of ${finding.totalOf}` : `breaks ${counted(finding.laws.length, "law")}`);
  finding.fixes.forEach((fix, k) => what.append(...(k ? [", "] : []), ...one(fix)));
  finding.alternatives.slice(0, 2).forEach((fix) => what.append(" or ", ...one(fix)));
  const button = element("button", { type: "button" }, element("span", { className: "row" }, rowName(finding.row)), what);
  button.setAttribute("aria-pressed", "false");
  button.addEventListener("click", () => {
    choose(index);
    byId("scroll").scrollIntoView({ block: "nearest" }); // which may be below, on a small screen
  });
  return element("li", {}, button);
}

const rowName = (row) => `${found.namedBy === null ? "row " : ""}${found.rowNames[found.numbers.indexOf(row)]}`;

function choose(index) {
  chosenFinding = index;
  for (const [k, button] of byId("findings").querySelectorAll("button").entries()) button.setAttribute("aria-pressed", k === index);
  scrollToRow(byId("scroll"), found.findings[index].row);
}

function showRows() {
  const onlyBroken = VIEW[1].checked;
  showTable(byId("table"), found, { onlyBroken });
  const nShown = found.numbers.length;
  byId("shown-rows").hidden = onlyBroken || nShown === found.nRows;
  byId("shown-rows").textContent = `The first rows of ${found.nRows.toLocaleString("en")}${found.findings.length ? ", and those that break a law or have missing cells" : ""}.`;
  markColumns();
  if (chosenFinding !== null) scrollToRow(byId("scroll"), found.findings[chosenFinding].row);
}

function markColumns() {
  const names = chosenLaw === null ? [] : found.laws[chosenLaw].columns;
  const isMarked = found.columns.map(({ name }) => names.includes(name));
  for (const row of byId("table").rows) {
    if (row.classList.contains("why")) continue;
    isMarked.forEach((marked, j) => row.cells[j + 1].classList.toggle("of-law", marked));
  }
}

function shell() {
  const quoted = (text) => (/^[\w.,/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const names = found.namedBy && found.columns.some(({ name }) => name === found.namedBy) ? ` --id ${quoted(found.namedBy)}` : "";
  return `vanishing check ${quoted(found.name)}${names}`;
}

function python() {
  const name = JSON.stringify(found.name);
  return ["from vanishing import discover", "", `laws = discover(${name})`, "print(laws)", `print(laws.check(${name}))`].join("\n");
}

function save(ending, content, type) {
  saveFile(`${found.name.replace(/\.\w+$/, "")}-${ending}`, content, type);
}

// --- start ---------------------------------------------------------------------------------------

const input = byId("table-file");
byId("limits").textContent = `Columns of text and dates only tell in which rows a law holds. The file is sent to the server of this page, which does not store it; it may have up to ${numberText(about.tableBytes / 1e6)} MB.`;
byId("open").addEventListener("click", () => input.click());
input.addEventListener("change", async () => {
  await open(input.files[0]);
  input.value = "";
});
byId("sample").addEventListener("click", () => {
  if (location.hash === SAMPLE.hash) openSample();
  else location.hash = SAMPLE.hash;
});
byId("save-report").addEventListener("click", () => save("laws.html", found.report, "text/html"));
byId("save-rules").addEventListener("click", () => save("rules.toml", found.rules, "application/toml"));
byId("cancel").addEventListener("click", () => searching?.controller.abort());
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") searching?.controller.abort();
});
for (const radio of VIEW) radio.addEventListener("change", showRows);

const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");
for (const type of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(type, (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    document.body.classList.toggle("dragging", type === "dragover");
    if (type === "drop") openOwn(event.dataTransfer.files[0]);
  });
}
document.addEventListener("paste", (event) => {
  const text = event.clipboardData?.getData("text/plain") ?? "";
  if (text.includes("\n")) openOwn(new File([text], "pasted cells"));
});

// A table that the address does not name.
function openOwn(file) {
  history.replaceState(null, "", location.pathname);
  open(file);
}

const openNamed = () => {
  if (location.hash === SAMPLE.hash) openSample();
  else document.documentElement.dataset.settled = "true";
};
addEventListener("hashchange", openNamed);
openNamed();
