"use strict";
/* The form .filters hides the items (with data-names) that don't fit: a search field looks for each of its words in
   the data of its name, a number is the smallest one, and a choice must be equal. */
class Filters {
  constructor() {
    this.form = document.querySelector(".filters");
    this.items = [...document.querySelectorAll("[data-names]")];
    this.form?.addEventListener("input", () => this.apply());
    if (this.form) this.apply();
  }

  fits(item, { name, type, value }) {
    const data = item.dataset[name];
    if (type === "search") return value.toLowerCase().split(/\s+/).every((word) => data.includes(word));
    return type === "number" ? Number(data) >= (Number(value) || 0) : value === "" || data === value;
  }

  apply() {
    const fields = [...this.form.elements].filter((field) => field.name);
    for (const item of this.items) item.hidden = !fields.every((field) => this.fits(item, field));
    const listed = this.items.filter((item) => item.localName !== "tr");  // a row of a table stands for another item
    const status = this.form.querySelector(".found");
    status.textContent = `${listed.filter((item) => !item.hidden).length} of ${listed.length} ${status.dataset.word}`;
  }
}
