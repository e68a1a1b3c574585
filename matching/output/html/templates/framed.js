"use strict";
/* In a frame of another page, the report sends its height to that page, so that only that page scrolls. It receives the
   height of the window, of which it may fill a part. */
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
