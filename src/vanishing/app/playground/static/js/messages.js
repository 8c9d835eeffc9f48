// What the page says: for all to see, or for screen readers.

const byId = (id) => document.getElementById(id);
let timer;

function show(text, isPlain, milliseconds) {
  const toast = byId("toast");
  clearTimeout(timer);
  toast.classList.toggle("plain", isPlain);
  toast.textContent = text;
  toast.hidden = false;
  timer = setTimeout(() => { toast.hidden = true; }, milliseconds);
}

export function complain(text) {
  show(text, false, 12000);
}

// After something went well, what went wrong before is no longer of interest.
export function settleComplaint() {
  const toast = byId("toast");
  if (!toast.classList.contains("plain")) toast.hidden = true;
}

export function say(text) {
  show(text, true, 4000);
}

export function announce(text) {
  byId("status").textContent = text;
}

export async function copyLink() {
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is copied: it holds the points and all settings.");
  } catch {
    say("The address of this page is the link: it holds the points and all settings.");
  }
}
