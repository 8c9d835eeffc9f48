// What the page says: for all to see, or for screen readers.

const byId = (id) => document.getElementById(id);
let timer;

// Beside what the page shows, and there until something went well.
export function complain(text) {
  const alert = byId("alert");
  alert.textContent = text;
  alert.hidden = false;
  alert.scrollIntoView({ block: "nearest" });
}

export function settleComplaint() {
  byId("alert").hidden = true;
}

export function say(text) {
  const toast = byId("toast");
  clearTimeout(timer);
  toast.textContent = text;
  toast.hidden = false;
  timer = setTimeout(() => { toast.hidden = true; }, 4000);
}

export function announce(text) {
  byId("status").textContent = text;
}

export async function copyLink() {
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is copied. It contains the points and all settings.");
  } catch {
    say("The address of this page is the link. It contains the points and all settings.");
  }
}
