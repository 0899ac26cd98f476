// Marks what scrolls sideways: a fading edge where more follows, and a stop of the Tab key.
const SCROLLING = ".bd-article :is(pre, .pst-scrollable-table-container, figure.drawn > div, figure:has(> img.sphx-glr-single-img), div.formula, .chooser)";

function mark(box) {
  const hidden = box.scrollWidth - box.clientWidth;
  box.classList.toggle("more-left", box.scrollLeft > 1);
  box.classList.toggle("more-right", box.scrollLeft < hidden - 1);
  if (hidden > 1) box.tabIndex = 0;
}

document.addEventListener("DOMContentLoaded", () => {
  const watcher = new ResizeObserver((changes) => changes.forEach((change) => mark(change.target)));
  for (const box of document.querySelectorAll(SCROLLING)) {
    box.addEventListener("scroll", () => mark(box), { passive: true });
    watcher.observe(box);
  }
});
