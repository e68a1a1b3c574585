"use strict";
/* The gallery of a collection.

   collection: { pictures: { number: { src, name, width, height } },
                 pairs: [{ images: [number, number], ... as in viewer.js }] } */
class Gallery {
  constructor(collection) {
    this.collection = collection;
    this.items = [...document.querySelectorAll(".gallery > li")];
    this.dialog = document.querySelector("dialog");
    this.template = document.getElementById("viewer");
    this.open = null;  // the pair that is shown large
    this.watch();
    this.connect();
    new Filters();
    this.follow();
  }

  pair(k) {
    const pair = this.collection.pairs[k];
    return { ...pair, pictures: pair.images.map((number) => this.collection.pictures[number]) };
  }

  /* Thumbnails are drawn when they come near the window; before the page is printed, all the others are drawn. */
  watch() {
    const observer = new IntersectionObserver((entries) => {
      for (const entry of entries.filter((e) => e.isIntersecting)) this.draw(entry.target, observer);
    }, { rootMargin: "600px" });
    this.items.forEach((item) => observer.observe(item));
    window.addEventListener("beforeprint", () => this.items.forEach((item) => this.draw(item, observer)));
  }

  draw(item, observer) {
    observer.unobserve(item);
    const card = item.querySelector(".card"), pair = this.pair(Number(card.dataset.pair));
    card.querySelectorAll(".thumb:empty").forEach((thumb) => {
      thumb.append(this.thumbnail(pair, thumb.previousElementSibling ? 1 : 0));
    });
  }

  thumbnail(pair, side) {
    const name = "http://www.w3.org/2000/svg", { width, height, src } = pair.pictures[side];
    const svg = document.createElementNS(name, "svg");
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const image = document.createElementNS(name, "image");
    image.setAttribute("href", src);
    image.setAttribute("width", width);
    image.setAttribute("height", height);
    svg.append(image);
    for (const object of pair.objects) {
      const d = "M" + object.outlines[side].map(([x, y]) => `${x + 0.5} ${y + 0.5}`).join("L") + "Z";
      for (const [kind, stroke] of [["casing", "#000"], ["ink", object.colour]]) {
        const path = document.createElementNS(name, "path");
        path.setAttribute("class", `outline ${kind}`);
        path.setAttribute("d", d);
        path.setAttribute("stroke", stroke);
        svg.append(path);
      }
    }
    return svg;
  }

  connect() {
    document.querySelectorAll(".card").forEach((card) => card.addEventListener("click", () => {
      location.hash = `pair-${this.collection.pairs[Number(card.dataset.pair)].pair}`;
    }));
    for (const [act, step] of [["previous", -1], ["next", 1]]) {
      this.dialog.querySelector(`[data-act=${act}]`).addEventListener("click", () => this.step(step));
    }
    this.dialog.querySelector("[data-act=close]").addEventListener("click", () => this.dialog.close());
    this.dialog.addEventListener("close", () => this.closed());
    window.addEventListener("hashchange", () => this.follow());
  }

  shown() { return this.items.flatMap((item, k) => (item.hidden ? [] : [k])); }

  step(by) {
    const shown = this.shown(), at = shown.indexOf(this.open);
    const next = shown[at + by];
    if (next !== undefined) location.hash = `pair-${this.collection.pairs[next].pair}`;
  }

  /* Show the pair that the address of the page names. */
  follow() {
    const named = /^#pair-(\d+)$/.exec(location.hash);
    const k = named ? this.collection.pairs.findIndex((pair) => pair.pair === Number(named[1])) : -1;
    if (k < 0) { if (this.dialog.open) this.dialog.close(); return; }
    const pair = this.pair(k), place = this.dialog.querySelector(".place"), title = this.dialog.querySelector("h2");
    this.viewer?.close();
    this.open = k;
    place.replaceChildren(this.template.content.cloneNode(true));
    title.textContent = pair.pictures.map((p) => p.name).join(" and ");
    const shown = this.shown(), at = shown.indexOf(k);
    this.dialog.querySelector("[data-act=previous]").disabled = at <= 0;
    this.dialog.querySelector("[data-act=next]").disabled = at < 0 || at === shown.length - 1;
    if (!this.dialog.open) this.dialog.showModal();
    this.viewer = new Viewer(place.querySelector(".viewer"), pair);
    this.dialog.scrollTop = 0;
    title.focus();
  }

  closed() {
    this.viewer?.close();
    this.viewer = null;
    const card = this.items[this.open]?.querySelector(".card");
    this.open = null;
    this.dialog.querySelector(".place").replaceChildren();
    if (location.hash.startsWith("#pair-")) history.replaceState(null, "", location.pathname + location.search);
    card?.focus();
  }
}
