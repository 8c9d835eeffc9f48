// The page for images.

import { latest, post } from "./api.js";
import { areaUnderCurve, drawHistogram } from "./histogram.js";
import { rememberer, unsettle } from "./link.js";
import { announce, complain, copyLink, settleComplaint } from "./messages.js";
import { numberText } from "./numbers.js";
import { Pad } from "./pad.js";
import { fromText, paintAttribution, paintImage, toText, turned } from "./pixels.js";
import { onThemeChange } from "./theme.js";

const byId = (id) => document.getElementById(id);
const SHOWN = 30;
const NORMAL = Array.from(byId("normal").options, ({ value }) => value);

let state = fromHash();
let gallery = null;
let explanation = null;
let original = null; // the image as it was chosen, to go back to

const pad = new Pad(byId("pad"), {
  announce,
  change: (image) => { state.image = image; changed(); },
});

function fromHash() {
  const fields = new URLSearchParams(location.hash.slice(1));
  const normal = NORMAL.includes(fields.get("normal")) ? fields.get("normal") : "2";
  try {
    return { normal, image: fromText(fields.get("image") ?? "") };
  } catch {
    return { normal, image: null };
  }
}

const remember = rememberer(() => {
  const image = state.image ? { image: toText(state.image) } : {};
  return `#${new URLSearchParams({ normal: state.normal, ...image })}`;
});

// --- asking --------------------------------------------------------------------------------------

async function update(signal) {
  const { normal } = state;
  if (gallery?.normal !== normal) {
    gallery = { ...await post("gallery", { normal }, signal), normal };
    if (!state.image) choose(strangest());
    showGallery();
  }
  const { image } = state;
  explanation = { ...await post("explain", { normal, image }, signal), image };
  showExplanation();
  settleComplaint();
}

const request = latest(update, {
  onError: (error) => complain(error.message),
  onWait: complain,
  onSettled: remember,
});

function changed() {
  unsettle();
  request();
}

function strangest() {
  const order = gallery.scores.map((_, k) => k).sort((a, b) => gallery.scores[b] - gallery.scores[a]);
  return fromText(gallery.images[order[0]]);
}

function choose(image) {
  state.image = image;
  original = image;
  pad.show(image);
}

// --- showing -------------------------------------------------------------------------------------

function showExplanation() {
  const { score, threshold, attribution, counterfactual, counterfactualScore } = explanation;
  const { rotations, equations, image } = explanation;
  const isStrange = score > threshold;
  const word = document.createElement("span");
  word.className = isStrange ? "strange" : "usual";
  word.textContent = isStrange ? "strange" : "normal";
  const number = document.createElement("b");
  number.textContent = numberText(score, 3);
  byId("verdict").replaceChildren(word, ": score ", number, `, alarm above ${numberText(threshold, 2)}`);
  paintAttribution(byId("heat"), image, attribution);
  paintImage(byId("fix"), counterfactual);
  const adds = attribution.some((added) => added !== 0);
  byId("fix-caption").textContent = adds ? `suggested fix: score ${numberText(counterfactualScore, 2)}` : "nothing to fix";
  const largest = Math.max(...attribution.map(Math.abs));
  byId("scale-low").textContent = adds ? `−${numberText(largest, 2)}` : "";
  byId("scale-high").textContent = adds ? `+${numberText(largest, 2)}` : "";
  byId("turns").replaceChildren(...rotations.map(turn));
  byId("broken").replaceChildren(...equations.map(broken));
  drawHistogram(byId("histogram"), gallery, score);
}

function turn({ name, image, loss }) {
  const item = document.createElement("li");
  const canvas = document.createElement("canvas");
  paintImage(canvas, image);
  const probability = Math.exp(-loss);
  const meter = document.createElement("meter");
  Object.assign(meter, { min: 0, max: 1, low: 0.4, high: 0.7, optimum: 1, value: probability });
  meter.setAttribute("aria-label", `${name}: recognized with probability`);
  const line = (kind, text) => {
    const made = document.createElement("div");
    made.className = kind;
    made.textContent = text;
    return made;
  };
  item.append(
    line("name", name), canvas, meter,
    line("sure", probability < 0.001 ? "< 0.1 %" : `${(100 * probability).toFixed(probability < 0.1 ? 1 : 0)} %`),
    line("part", `adds ${numberText(Math.max(0, loss), 2)}`),
  );
  return item;
}

function broken({ part, degree, timesTypical }) {
  const item = document.createElement("li");
  const times = document.createElement("b");
  times.textContent = `${numberText(timesTypical, 2)} times`;
  item.append(`one of degree ${degree}, image ${part}: `, times, " as far off as usual");
  return item;
}

function showGallery() {
  const { scores, labels, isNormal, threshold, trainedOn, images } = gallery;
  byId("summary").textContent = `Trained on ${trainedOn} normal images. On ${scores.length} unseen ones the area under the curve is ${areaUnderCurve(scores, isNormal).toFixed(3)}.`;
  const view = document.querySelector("input[name=view]:checked").value;
  const isAlarm = (k) => scores[k] > threshold;
  const wanted = {
    highest: () => true,
    lowest: () => true,
    false: (k) => isNormal[k] && isAlarm(k),
    missed: (k) => !isNormal[k] && !isAlarm(k),
  }[view];
  const direction = view === "lowest" || view === "missed" ? 1 : -1;
  const order = scores.map((_, k) => k).filter(wanted).sort((a, b) => direction * (scores[a] - scores[b]));
  const buttons = order.slice(0, SHOWN).map((k) => {
    const button = document.createElement("button");
    button.type = "button";
    const canvas = document.createElement("canvas");
    paintImage(canvas, fromText(images[k]));
    const text = document.createElement("span");
    text.textContent = numberText(Math.max(0, scores[k]), 2);
    button.append(canvas, text);
    button.setAttribute("aria-label", `A ${labels[k]}, score ${text.textContent}`);
    button.setAttribute("aria-pressed", state.image !== null && toText(state.image) === images[k]);
    button.addEventListener("click", () => {
      for (const other of byId("gallery").children) other.setAttribute("aria-pressed", other === button);
      choose(fromText(images[k]));
      changed();
    });
    return button;
  });
  const none = document.createElement("p");
  none.textContent = "There are none.";
  byId("gallery").replaceChildren(...(buttons.length ? buttons : [none]));
}

// --- start ---------------------------------------------------------------------------------------

function edit(image) {
  if (!image) return; // nothing has come from the server yet
  state.image = image;
  pad.show(image);
  changed();
}

byId("normal").value = state.normal;
byId("normal").addEventListener("change", ({ target }) => { state.normal = target.value; changed(); });
byId("turn").addEventListener("click", () => edit(state.image && turned(state.image)));
byId("clear").addEventListener("click", () => edit(state.image?.map(() => 0)));
byId("restore").addEventListener("click", () => edit(original));
byId("copy-link").addEventListener("click", copyLink);
for (const radio of document.querySelectorAll("input[name=view]")) radio.addEventListener("change", showGallery);
addEventListener("hashchange", () => {
  state = fromHash();
  byId("normal").value = state.normal;
  if (state.image) choose(state.image);
  changed();
});
onThemeChange(() => { pad.paint(); showGallery(); showExplanation(); });
new ResizeObserver(() => { if (explanation) drawHistogram(byId("histogram"), gallery, explanation.score); }).observe(byId("histogram"));
if (state.image) choose(state.image);
changed();
