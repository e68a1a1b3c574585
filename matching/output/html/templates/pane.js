"use strict";
/* One picture that can be zoomed and moved. Positions are pixels of the original picture, (0, 0) the centre of its
   top-left pixel; `scale` is the number of screen pixels per picture pixel, over that of the fitted picture. */
class Pane {
  static MOST = 16;

  constructor(figure, picture, label, changed) {
    this.picture = picture;
    this.changed = changed;
    this.stage = figure.querySelector(".stage");
    this.layer = figure.querySelector(".layer");
    this.canvas = figure.querySelector("canvas");
    this.svg = figure.querySelector("svg");
    this.stage.style.aspectRatio = `${picture.width} / ${picture.height}`;
    this.svg.setAttribute("viewBox", `0 0 ${picture.width} ${picture.height}`);
    const image = figure.querySelector("img");
    if (picture.src) image.src = picture.src;
    image.alt = label;
    figure.querySelector("figcaption").textContent = `${picture.name} (${picture.width} × ${picture.height})`;
    this.stage.setAttribute("aria-label", `${label}. Plus and minus zoom, arrow keys move, 0 shows all of it.`);
    this.pointers = new Map();
    this.reset();
    this.listen();
  }

  get width() { return this.stage.clientWidth; }
  get height() { return this.stage.clientHeight; }

  reset() { this.scale = 1; this.x = 0; this.y = 0; this.apply(); }

  apply() {
    this.scale = Math.min(Math.max(this.scale, 1), Pane.MOST);
    this.x = Math.min(0, Math.max(this.x, this.width * (1 - this.scale)));
    this.y = Math.min(0, Math.max(this.y, this.height * (1 - this.scale)));
    this.layer.style.setProperty("--zoom", this.scale);  // outlines keep their width on the screen
    this.layer.style.transform = `translate(${this.x}px, ${this.y}px) scale(${this.scale})`;
    this.stage.classList.toggle("zoomed", this.scale > 1);
    this.changed();
  }

  /* Zoom by a factor about a point of the stage, by default its middle. */
  zoom(factor, at = { x: this.width / 2, y: this.height / 2 }) {
    const scale = Math.min(Math.max(this.scale * factor, 1), Pane.MOST);
    this.x = at.x - (at.x - this.x) * scale / this.scale;
    this.y = at.y - (at.y - this.y) * scale / this.scale;
    this.scale = scale;
    this.apply();
  }

  move(dx, dy) { this.x += dx; this.y += dy; this.apply(); }

  /* Show a polygon as large as fits, with a margin. */
  show(polygon) {
    const xs = polygon.map((p) => p[0]), ys = polygon.map((p) => p[1]);
    const fit = this.width / this.picture.width;
    const low = [Math.min(...xs), Math.min(...ys)], high = [Math.max(...xs), Math.max(...ys)];
    const size = [Math.max(high[0] - low[0], 20) * fit, Math.max(high[1] - low[1], 20) * fit];
    this.scale = Math.min(Math.max(0.85 * Math.min(this.width / size[0], this.height / size[1]), 1), Pane.MOST);
    this.x = this.width / 2 - ((low[0] + high[0]) / 2 + 0.5) * fit * this.scale;
    this.y = this.height / 2 - ((low[1] + high[1]) / 2 + 0.5) * fit * this.scale;
    this.apply();
  }

  toStage(x, y) {
    const fit = this.width / this.picture.width;
    return { x: this.x + (x + 0.5) * fit * this.scale, y: this.y + (y + 0.5) * fit * this.scale };
  }

  holds(at) { return at.x >= 0 && at.y >= 0 && at.x <= this.width && at.y <= this.height; }

  listen() {
    const at = (event) => {
      const box = this.stage.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    this.stage.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== this.stage) return;
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), at(event));
    }, { passive: false });
    this.stage.addEventListener("dblclick", (event) => this.zoom(event.shiftKey ? 0.5 : 2, at(event)));
    this.stage.addEventListener("pointerdown", (event) => {
      this.pointers.set(event.pointerId, at(event));
      if (this.pointers.size === 1) this.moved = false;
    });
    this.stage.addEventListener("pointermove", (event) => this.drag(event, at(event)));
    for (const name of ["pointerup", "pointercancel", "pointerleave"]) {
      this.stage.addEventListener(name, (event) => this.pointers.delete(event.pointerId));
    }
    this.stage.addEventListener("keydown", (event) => {
      const step = 60, act = {
        "+": () => this.zoom(1.4), "=": () => this.zoom(1.4), "-": () => this.zoom(1 / 1.4), "0": () => this.reset(),
        ArrowLeft: () => this.move(step, 0), ArrowRight: () => this.move(-step, 0),
        ArrowUp: () => this.move(0, step), ArrowDown: () => this.move(0, -step),
      }[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key.startsWith("Arrow") && this.scale === 1) return;
      event.preventDefault();
      act();
    });
  }

  drag(event, now) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    if (this.pointers.size === 1 && this.scale > 1) {
      if (!this.moved && Math.hypot(now.x - before.x, now.y - before.y) < 4) return;
      if (!this.moved) this.stage.setPointerCapture(event.pointerId);
      this.moved = true;
      this.pointers.set(event.pointerId, now);
      this.move(now.x - before.x, now.y - before.y);
    } else if (this.pointers.size === 2) {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
      const gap = (p) => Math.max(Math.hypot(p.x - other.x, p.y - other.y), 1);
      this.moved = true;
      this.pointers.set(event.pointerId, now);
      this.zoom(gap(now) / gap(before), { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 });
    }
  }
}
