"use strict";
/* In a frame of another page the report tells how high it is, so that only that page scrolls, and is told how high the
   window is, of which it may fill a part. */
if (window.parent !== window) {
  const root = document.documentElement;
  root.classList.add("framed");
  window.addEventListener("message", (event) => {
    if (event.source === window.parent && Number.isFinite(event.data?.windowHeight)) {
      root.style.setProperty("--vh", `${event.data.windowHeight / 100}px`);
    }
  });
  new ResizeObserver(() => window.parent.postMessage({ reportHeight: Math.ceil(root.offsetHeight) }, "*")).observe(root);
}
