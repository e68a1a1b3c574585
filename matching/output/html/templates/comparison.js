"use strict";
/* Both pictures of an object, one over the other: a slider shows more of either, and a button shows them in turn. */
class Comparison {
  static PERIOD = 800;  // milliseconds for which each picture is shown: slower than flashes that harm

  constructor(figure) {
    this.figure = figure;
    this.slider = figure.querySelector("[type=range]");
    this.button = figure.querySelector("button");
    this.timer = null;
    figure.classList.add("over");
    figure.querySelector(".bar").hidden = false;
    this.slider.addEventListener("input", () => { this.stop(); this.paint(); });
    this.button.addEventListener("click", () => this.press());
    figure.querySelector("[type=checkbox]")?.addEventListener("change", (event) => {
      figure.classList.toggle("undiffering", !event.target.checked);
    });
    const parts = figure.querySelector(".parts");
    for (const name of ["pointerdown", "pointermove"]) {
      parts.addEventListener(name, (event) => {
        if (!event.buttons) return;
        const box = parts.getBoundingClientRect();
        this.stop();
        this.show(100 * (event.clientX - box.left) / box.width);
      });
    }
    this.paint();
  }

  /* Blink, or stop; where motion is to be reduced, show the other picture, and nothing moves by itself. */
  press() {
    if (this.timer !== null) return this.stop();
    this.swap();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    this.timer = setInterval(() => this.swap(), Comparison.PERIOD);
    this.button.setAttribute("aria-pressed", "true");
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.button.setAttribute("aria-pressed", "false");
  }

  swap() { this.show(Number(this.slider.value) < 50 ? 100 : 0); }

  show(share) {
    this.slider.value = share;
    this.paint();
  }

  paint() {
    this.figure.style.setProperty("--split", `${this.slider.value}%`);
    this.slider.setAttribute("aria-valuetext", `${this.slider.value} %`);
  }
}
document.querySelectorAll(".comparison").forEach((figure) => new Comparison(figure));
