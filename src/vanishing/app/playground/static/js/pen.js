// Drawing and erasing points on a plot, with mouse, finger or keyboard.

const SPACING = 11; // between points of one stroke, in pixels
const ERASER = 14;

// `actions`: tool(), chooseTool(name), add(set, point), erase(near: point => bool), begin(), announce(text)
export function attachPen(plot, actions) {
  const { canvas } = plot;
  let last = null;

  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const distance = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1]);
  const eraseAround = (pixel) => actions.erase((point) => distance(plot.toPixel(point), pixel) < ERASER);

  function stroke(pixel) {
    if (pixel.some((p) => p < 0 || p > canvas.clientWidth)) return;
    if (actions.tool() === "erase") {
      eraseAround(pixel);
    } else if (!last || distance(pixel, last) >= SPACING) {
      actions.add(actions.tool(), plot.toPlane(...pixel));
      last = pixel;
    }
  }

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    actions.begin();
    last = null;
    plot.cursor = null;
    stroke(at(event));
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!canvas.hasPointerCapture(event.pointerId)) return;
    for (const each of event.getCoalescedEvents?.() ?? [event]) stroke(at(each));
  });

  const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  const tools = { x: "x", y: "y", e: "erase" };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const cursor = plot.cursor ?? [0, 0];
    if (moves[event.key]) {
      const step = plot.reach * (event.shiftKey ? 0.1 : 0.02);
      plot.cursor = cursor.map((c, k) => Math.max(-plot.reach, Math.min(plot.reach, c + step * moves[event.key][k])));
      actions.announce(plot.cursor.map((c) => c.toFixed(2)).join(", "));
    } else if (event.key === " " || event.key === "Enter") {
      actions.begin();
      plot.cursor = cursor;
      if (actions.tool() === "erase") eraseAround(plot.toPixel(cursor));
      else actions.add(actions.tool(), cursor);
    } else if (event.key === "Delete" || event.key === "Backspace") {
      actions.begin();
      eraseAround(plot.toPixel(cursor));
    } else if (tools[event.key.toLowerCase()]) {
      actions.chooseTool(tools[event.key.toLowerCase()]);
    } else {
      return;
    }
    event.preventDefault();
    plot.paint();
  });
  canvas.addEventListener("focus", () => {
    if (canvas.matches(":focus-visible")) plot.cursor ??= [0, 0];
    plot.paint();
  });
  canvas.addEventListener("blur", () => plot.paint());
}
