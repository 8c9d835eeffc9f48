// The part of the address behind the #, which holds the state of the page.

const PAUSE = 120; // ms
let timer;

// Returns a function that, a moment after its last call, puts what `write` returns into the
// address and marks the page as settled.
export function rememberer(write) {
  return () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const hash = write();
      try {
        if (hash !== location.hash) history.replaceState(null, "", hash || location.pathname);
      } catch {
        // Some browsers refuse to change the address too often; it is changed the next time.
      }
      document.documentElement.dataset.settled = "true";
    }, PAUSE);
  };
}

// The page is about to change: it is not settled until it is remembered again.
export function unsettle() {
  clearTimeout(timer);
  delete document.documentElement.dataset.settled;
}
