"use strict";
/* Both pictures of a pair with their objects and candidates.

   pair: { pictures: [{ src, name, width, height }, ...],
           objects: [{ id, title, mark, labels: [text, text], colour, n_matches, score, cells: [text, ...], kind, words, frame: polygon or null,
                       outlines: [polygon, polygon], differences: [[polygon, polygon], ...], lines: [row, ...] }],
           candidates: { xy0: [x, y, ...], xy1: [...] in tenths of a pixel, cluster: [...] },
           n_rejected: candidates rejected, of which `candidates` may hold only the best,
           rejected: [{ text, outlines: [polygon, polygon] }], groups that are not objects; may be missing }
   `candidates` holds the kept ones first, and then the rejected ones, by ascending descriptor distance. */
class Viewer {
  constructor(root, pair) {
    this.root = root;
    this.pair = pair;
    this.chosen = null;   // by a click; it stays
    this.hovered = null;  // under the pointer
    this.near = null;     // candidate under the pointer
    this.find = (selector) => root.querySelector(selector);
    this.both = this.find(".both");
    this.lines = this.find("canvas.lines");
    this.n_kept = pair.candidates.cluster.filter((c) => c >= 0).length;
    this.n_held = pair.candidates.cluster.length - this.n_kept;
    this.layOut();
    const order = ["First picture", "Second picture"];
    this.panes = [...root.querySelectorAll(".pane")].map((figure, side) => new Pane(
      figure, pair.pictures[side],
      `${order[side]}, ${pair.pictures[side].name}, with the outlines of ${pair.objects.length} objects`,
      () => this.draw()));
    this.panes.forEach((pane, side) => this.addOutlines(pane, side));
    this.fillTable();
    this.connect();
    this.observer = new ResizeObserver(() => this.panes.forEach((pane) => pane.apply()));
    this.observer.observe(this.both);
    this.slide();
  }

  close() { this.observer.disconnect(); }

  /* Side by side at one height, as high as the window allows. */
  layOut() {
    const ratios = this.pair.pictures.map((p) => Math.min(Math.max(p.width / p.height, 0.4), 4));
    this.find(".panes").style.gridTemplateColumns = ratios.map((r) => `${r}fr`).join(" ");
    ratios.forEach((r, side) => this.root.querySelectorAll(".pane")[side].style.setProperty("--ratio", r));
    this.both.style.maxWidth = `calc(${(ratios[0] + ratios[1]).toFixed(3)} * 72 * var(--vh, 1vh) + 12px)`;
  }

  addOutlines(pane, side) {
    const { width, height } = this.pair.pictures[side];
    const shape = (name, attributes) => {
      const node = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
      return node;
    };
    const path = (polygon) => "M" + polygon.map(([x, y]) => `${x + 0.5} ${y + 0.5}`).join("L") + "Z";
    pane.shade = shape("path", { class: "shade" });
    pane.svg.append(pane.shade);
    pane.shadeOf = (object) => `M0 0H${width}V${height}H0Z` + path(object.outlines[side]);
    const frames = side ? this.pair.objects.filter((object) => object.frame) : [];
    for (const object of frames) {
      const group = shape("g", { class: "object frame", "data-object": object.id }), d = path(object.frame);
      group.append(shape("path", { class: "outline casing", d }), shape("path", { class: "outline ink", d, stroke: object.colour }));
      pane.svg.append(group);
    }
    for (const item of this.pair.rejected ?? []) {
      const group = shape("g", { class: "rejected" }), d = path(item.outlines[side]);
      const ink = shape("path", { class: "outline ink", d, stroke: "#c8c8c8" });
      const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
      title.textContent = item.text;
      ink.append(title);
      group.append(shape("path", { class: "outline casing", d }), ink);
      pane.svg.append(group);
    }
    // the smallest on top, so that each can be reached
    const byArea = [...this.pair.objects].sort((a, b) => area(b.outlines[side]) - area(a.outlines[side]));
    for (const object of byArea) {
      const group = shape("g", { class: "object", "data-object": object.id });
      const d = path(object.outlines[side]);
      const ink = shape("path", { class: "outline ink", d, stroke: object.colour });
      group.append(shape("path", { class: "outline casing", d }), ink);
      ink.addEventListener("pointerenter", (event) => {
        if (event.pointerType === "mouse") this.hover(object.id);
      });
      ink.addEventListener("pointerleave", () => this.hover(null));
      pane.svg.append(group);
    }
    const only = this.pair.only?.[side] ?? [];
    if (only.length) {
      const group = shape("g", { class: "differing" }), d = only.map(path).join("");
      group.append(shape("path", { class: "difference", d }), shape("path", { class: "difference dash", d }));
      pane.svg.append(group);
    }
    for (const object of this.pair.objects.filter((object) => object.differences.length)) {
      const group = shape("g", { class: "object differing", "data-object": object.id });
      const d = object.differences.map((both) => path(both[side])).join("");
      group.append(shape("path", { class: "difference", d }), shape("path", { class: "difference dash", d }));
      pane.svg.append(group);
    }
    pane.stage.addEventListener("click", (event) => {
      if (pane.moved) return;
      const group = event.target.closest(".object");
      this.choose(group ? Number(group.dataset.object) : null);
    });
    pane.stage.addEventListener("pointermove", (event) => this.pointAt(pane, side, event));
    pane.stage.addEventListener("pointerleave", () => { this.near = null; this.draw(); });
  }

  fillTable() {
    const body = this.find(".objects tbody");
    this.find(".table").hidden = !this.pair.objects.length;
    this.find(".nothing").hidden = this.pair.objects.length > 0;
    this.find(".hint").hidden = this.find(".meanings").hidden = !this.pair.objects.length;
    this.find(".framed").hidden = !this.pair.objects.some((object) => object.frame);
    this.find("label.differing").hidden = !(this.pair.only?.flat().length || this.pair.objects.some((object) => object.differences.length));
    this.find(".reasons").hidden = !(this.pair.rejected ?? []).length;
    this.rows = new Map();
    body.replaceChildren(...this.pair.objects.map((object) => {
      const row = document.createElement("tr");
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-pressed", "false");
      const swatch = document.createElement("span");
      swatch.className = "swatch";
      swatch.style.background = object.colour;
      swatch.style.color = inkOn(object.colour);
      swatch.textContent = object.mark;
      swatch.setAttribute("aria-hidden", "true");
      button.append(swatch, object.title);
      const heads = this.root.querySelectorAll(".objects thead th");
      row.append(...[button, ...object.cells].map((content, k) => {
        const cell = document.createElement(k ? "td" : "th");
        if (!k) cell.scope = "row";
        cell.className = heads[k].className;
        cell.append(content);
        return cell;
      }));
      row.addEventListener("click", () => this.choose(this.chosen === object.id ? null : object.id));
      row.addEventListener("pointerenter", (event) => {
        if (event.pointerType === "mouse") this.hover(object.id);
      });
      row.addEventListener("pointerleave", () => this.hover(null));
      this.rows.set(object.id, { row, button });
      return row;
    }));
  }

  connect() {
    const each = (act) => () => this.panes.forEach(act);
    this.find("[data-act=in]").addEventListener("click", each((pane) => pane.zoom(1.5)));
    this.find("[data-act=out]").addEventListener("click", each((pane) => pane.zoom(1 / 1.5)));
    this.find("[data-act=fit]").addEventListener("click", each((pane) => pane.reset()));
    this.find("[data-act=object]").addEventListener("click", () => {
      const object = this.object(this.chosen);
      if (object) this.panes.forEach((pane, side) => pane.show(object.outlines[side]));
    });
    this.slider = this.find("input[type=range]");
    this.slider.addEventListener("input", () => this.slide());
    this.find("[name=lines]").addEventListener("change", () => this.draw());
    this.find("[name=frames]").addEventListener("change", (event) => {
      this.both.classList.toggle("unframed", !event.target.checked);
    });
    this.find("[name=differences]").addEventListener("change", (event) => {
      this.both.classList.toggle("undiffering", !event.target.checked);
    });
    this.find("[name=rejected]").addEventListener("change", (event) => {
      this.both.classList.toggle("unexplained", !event.target.checked);
    });
    this.root.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.chosen !== null) {
        event.preventDefault();
        event.stopPropagation();
        this.choose(null);
      }
    });
  }

  object(id) { return this.pair.objects.find((object) => object.id === id); }

  choose(id) {
    this.chosen = id;
    for (const [key, { button }] of this.rows) button.setAttribute("aria-pressed", String(key === id));
    this.find("[data-act=object]").disabled = id === null;
    const object = this.object(id);
    this.find(".singled-out").textContent = object
      ? `${object.title} singled out: ${object.cells[2] && `${object.cells[2]}, `}${object.n_matches} matches, score ${object.score.toFixed(2)}, `
        + (object.words ? `${object.words}; ` : "") + `${object.kind} with an error of ${object.cells.at(-1)}.`
      : "";
    this.show();
  }

  hover(id) { this.hovered = id; this.show(); }

  /* Show which object is singled out. */
  show() {
    const id = this.hovered ?? this.chosen, object = this.object(id);
    for (const pane of this.panes) {
      pane.svg.classList.toggle("singled", Boolean(object));
      pane.shade.setAttribute("d", object ? pane.shadeOf(object) : "");
      for (const group of pane.svg.querySelectorAll(".object")) {
        group.classList.toggle("chosen", Number(group.dataset.object) === id);
      }
    }
    for (const [key, { row }] of this.rows) row.classList.toggle("chosen", key === id);
    this.draw();
  }

  slide() {
    const left = this.slider.max - this.slider.value;
    this.shown = Math.round(this.n_held * left / this.slider.max);
    const number = (n) => n.toLocaleString("en");
    const kept = `${number(this.n_kept)} kept matches`;
    const rejected = `${number(this.shown)} of ${number(this.pair.n_rejected)} rejected candidates`;
    const text = !this.n_kept ? rejected : this.shown ? `${kept} and ${rejected}` : `${kept} only`;
    this.slider.setAttribute("aria-valuetext", text);
    const hasCandidates = this.n_kept + this.pair.n_rejected > 0;
    this.find(".told .counts").textContent = hasCandidates ? `Shown: ${text}.` : "There are no candidates.";
    this.draw();
  }

  place(pane, side, row) {
    const xy = side ? this.pair.candidates.xy1 : this.pair.candidates.xy0;
    return pane.toStage(xy[2 * row] / 10, xy[2 * row + 1] / 10);
  }

  pointAt(pane, side, event) {
    if (event.pointerType !== "mouse" || event.buttons) return;
    const box = pane.stage.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    const singled = this.hovered ?? this.chosen;
    let best = 8, near = null;  // within 8 px of the pointer
    for (let row = 0; row < this.n_kept + this.shown; row++) {
      const cluster = this.pair.candidates.cluster[row];
      if (singled !== null && cluster >= 0 && cluster !== singled) continue;
      const at = this.place(pane, side, row), gap = Math.hypot(at.x - x, at.y - y);
      if (gap < best) { best = gap; near = row; }
    }
    if (near !== this.near) { this.near = near; this.draw(); }
  }

  draw() {
    if (this.waiting || !this.panes) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.paint(); });
  }

  paint() {
    const singled = this.hovered ?? this.chosen;
    this.panes.forEach((pane, side) => this.paintDots(pane, side, singled));
    const pen = prepared(this.lines, this.both);
    if (this.find("[name=lines]").checked) {
      for (const object of this.pair.objects) {
        if (singled !== null && object.id !== singled) continue;
        // they begin with those that are farthest apart, so that a few of them show where the object lies
        const few = singled === null ? Math.max(Math.round(60 / this.pair.objects.length), 4) : Infinity;
        this.paintLines(pen, object.lines.slice(0, few), object.colour, singled === null ? 0.6 : 0.85);
      }
    }
    this.panes.forEach((pane, side) => this.paintNumbers(pen, pane, side, singled));
    if (this.near !== null) {
      const cluster = this.pair.candidates.cluster[this.near];
      this.paintLines(pen, [this.near], cluster < 0 ? "#ffffff" : this.object(cluster).colour, 1, true);
    }
  }

  paintDots(pane, side, singled) {
    const pen = prepared(pane.canvas, pane.stage);
    const dot = (row, radius, fill) => {
      const at = this.place(pane, side, row);
      if (!pane.holds(at)) return;
      pen.beginPath();
      pen.arc(at.x, at.y, radius, 0, 2 * Math.PI);
      pen.fillStyle = fill;
      pen.fill();
      pen.stroke();
    };
    const size = Math.min(2 + Math.log2(pane.scale) * 0.6, 4);
    pen.lineWidth = 1;
    pen.strokeStyle = "rgba(0,0,0,.7)";
    pen.globalAlpha = singled === null ? 0.85 : 0.4;
    for (let row = this.n_kept + this.shown - 1; row >= this.n_kept; row--) dot(row, size * 0.8, "#f2f2f2");
    for (const object of this.pair.objects) {
      pen.globalAlpha = singled === null || singled === object.id ? 1 : 0.08;
      for (let row = 0; row < this.n_kept; row++) {
        if (this.pair.candidates.cluster[row] === object.id) dot(row, size, object.colour);
      }
    }
    pen.globalAlpha = 1;
  }

  /* The numbers of the objects, moved aside where they would hide each other. */
  paintNumbers(pen, pane, side, singled) {
    const placed = [], { dx, dy } = this.offset(pane);
    pen.font = "700 14px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (const object of this.pair.objects) {
      if (singled !== null && singled !== object.id) continue;
      const xs = object.outlines[side].map((p) => p[0]), ys = object.outlines[side].map((p) => p[1]);
      const at = pane.toStage((Math.min(...xs) + Math.max(...xs)) / 2, (Math.min(...ys) + Math.max(...ys)) / 2);
      if (!pane.holds(at)) continue;
      at.x += dx;
      at.y += dy;
      const width = Math.max(pen.measureText(object.labels[side]).width + 10, 22), left = at.x;
      while (placed.some((p) => Math.abs(p.x - at.x) < 28 && Math.abs(p.y - at.y) < 24)) {
        at.x += 14;
        if (at.x > dx + pane.width - width / 2) { at.x = left; at.y += 26; }
      }
      placed.push(at);
      pen.fillStyle = object.colour;
      pen.strokeStyle = "#000";
      pen.beginPath();
      pen.roundRect(at.x - width / 2, at.y - 11, width, 22, 5);
      pen.fill();
      pen.stroke();
      pen.fillStyle = inkOn(object.colour);
      pen.fillText(object.labels[side], at.x, at.y + 1);
    }
  }

  /* The place of a pane's stage in the canvas that lies over both. */
  offset(pane) {
    const frame = this.both.getBoundingClientRect(), box = pane.stage.getBoundingClientRect();
    return { dx: box.left - frame.left, dy: box.top - frame.top };
  }

  /* Lines from one picture to the other, with a dark rim, so that they can be seen on any ground. */
  paintLines(pen, rows, colour, alpha, strong = false) {
    const ends = this.panes.map((pane) => ({ pane, ...this.offset(pane) }));
    pen.globalAlpha = alpha;
    for (const row of rows) {
      const points = ends.map(({ pane }, side) => this.place(pane, side, row));
      if (!points.every((at, side) => ends[side].pane.holds(at))) continue;
      const [a, b] = points.map((at, side) => ({ x: at.x + ends[side].dx, y: at.y + ends[side].dy }));
      for (const [width, ink] of [[strong ? 5 : 2.6, "rgba(0,0,0,.45)"], [strong ? 2.4 : 1.1, colour]]) {
        pen.lineWidth = width;
        pen.strokeStyle = ink;
        pen.beginPath();
        pen.moveTo(a.x, a.y);
        pen.lineTo(b.x, b.y);
        pen.stroke();
      }
    }
    pen.globalAlpha = 1;
  }
}

/* Black, or white on a dark colour: whichever is easier to read (WCAG's relative luminance). */
function inkOn(colour) {
  const [r, g, b] = [1, 3, 5].map((k) => (parseInt(colour.slice(k, k + 2), 16) / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#000000" : "#ffffff";
}

function area(polygon) {
  return Math.abs(polygon.reduce((sum, [x, y], k) => {
    const [u, v] = polygon[(k + 1) % polygon.length];
    return sum + x * v - u * y;
  }, 0)) / 2;
}

/* The pen of an empty canvas that covers an element, at the screen's own resolution. */
function prepared(canvas, over) {
  const ratio = window.devicePixelRatio || 1;
  const width = Math.round(over.clientWidth * ratio), height = Math.round(over.clientHeight * ratio);
  if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, over.clientWidth, over.clientHeight);
  return pen;
}
