"use strict";
const $ = (selector) => document.querySelector(selector);
const drops = [...document.querySelectorAll(".drop")];
const inputs = drops.map((drop) => drop.querySelector("input"));
const steps = {
  read: "Reading the pictures", features: "Describing local features", candidates: "Matching features",
  grouping: "Grouping the matches", agreement: "Comparing what lies between", places: "Finding the places", views: "Matching simulated views",
  details: "Looking for details", reversals: "Trying one picture mirrored and in negative", pixels: "Comparing pixels",
  objects: "Describing the objects", files: "Writing the results",
};
let current = null;  // the match of the pictures that are shown: { id, abort }
const narrow = window.matchMedia("(max-width: 720px)");

function given() { return inputs.flatMap((input) => [...input.files]); }

function show(selector, visible) { $(selector).hidden = !visible; }

function say(text) { $("#said").textContent = text; }

function fail(text) {
  show("#progress", false);
  $("#error").textContent = text;
  show("#error", true);
}

function fill(k) {
  const file = inputs[k].files[0], drop = drops[k], image = drop.querySelector("img");
  if (image.src) URL.revokeObjectURL(image.src);
  image.hidden = !file;
  drop.classList.toggle("filled", Boolean(file));
  drop.querySelector(".name").textContent = file ? file.name : "";
  if (file) {
    image.src = URL.createObjectURL(file);
    image.onerror = () => { image.hidden = true; };  // not a picture, or of a kind that only the program reads
  }
  giveUp();
}

/* Give up the match of the pictures before, whether it is under way or shown: its result is not of these. */
function giveUp() {
  const old = current;
  current = null;
  if (old) {
    old.abort.abort();
    if (old.id) fetch(`/matches/${old.id}`, { method: "DELETE" }).catch(() => {});
  }
  ["#progress", "#error", "#result"].forEach((selector) => show(selector, false));
  $("#report")?.remove();
  ["#files", "#formats div", "#lines"].forEach((selector) => $(selector).replaceChildren());
  document.body.classList.remove("done");
  const n = given().length;
  $("button.main").textContent = n === 1 ? "Find what it shows more than once" : "Find common objects";
  $("button.main").disabled = $("#swap").disabled = $("#clear").disabled = !n;
}

/* A match whose page is left goes on for nobody. */
window.addEventListener("pagehide", () => {
  if (current?.id && !document.body.classList.contains("done")) {
    fetch(`/matches/${current.id}`, { method: "DELETE", keepalive: true }).catch(() => {});
  }
});

/* Let the k-th place hold a file, or none. */
function put(k, file) {
  const holder = new DataTransfer();
  if (file) holder.items.add(file);
  inputs[k].files = holder.files;
  fill(k);
}

$("#swap").addEventListener("click", () => {
  inputs.map((input) => input.files[0]).reverse().forEach((file, k) => put(k, file));
});

$("#clear").addEventListener("click", () => {
  inputs.forEach((_, k) => put(k, null));
  inputs[0].focus();
});

$("#sample").addEventListener("click", async () => {
  giveUp();
  try {
    const files = await Promise.all(inputs.map(async (_, k) => {
      const answer = await fetch(`/sample${k}.jpg`);
      if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
      return new File([await answer.blob()], `sample${k}.jpg`, { type: "image/jpeg" });
    }));
    files.forEach((file, k) => put(k, file));
    $("#pictures").requestSubmit();
  } catch (error) {
    fail(error.message);
  }
});

inputs.forEach((input, k) => {
  input.addEventListener("change", () => fill(k));
  if (input.files.length) fill(k);  // a browser may keep the files when it loads the page again
});

/* Two files dropped anywhere fill both places; one fills the place it is dropped on, or the first free one. */
window.addEventListener("dragover", (event) => {
  event.preventDefault();
  drops.forEach((drop) => drop.classList.toggle("over", drop.contains(event.target)));
});
window.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) drops.forEach((drop) => drop.classList.remove("over"));
});
window.addEventListener("drop", (event) => {
  event.preventDefault();
  drops.forEach((drop) => drop.classList.remove("over"));
  const files = [...event.dataTransfer.files].slice(0, 2);
  const under = drops.findIndex((drop) => drop.contains(event.target));
  const free = inputs.findIndex((input) => !input.files.length);
  const first = files.length === 2 ? 0 : under >= 0 ? under : Math.max(free, 0);
  files.forEach((file, i) => put(first + i, file));
});

$("#pictures").addEventListener("submit", async (event) => {
  event.preventDefault();
  find(false);
});

/* Match the pictures that are shown, also in simulated views of them where `views` is true. */
async function find(views) {
  giveUp();
  const files = given();
  const match = current = { id: null, abort: new AbortController() };
  $("button.main").disabled = true;
  try {
    const status = await upload(files, match, settings(views));
    await follow(status, match);
  } catch (error) {
    if (match === current) fail(error.message);
  } finally {
    if (match === current) $("button.main").disabled = false;
  }
}

/* The settings of a match, as they end its address. */
function settings(views) {
  const asked = new URLSearchParams(), megapixels = $("#megapixels"), candidates = $("#candidates");
  for (const field of [megapixels, candidates]) {
    const called = field.closest("label").textContent.trim();
    if (!field.validity.valid) throw new Error(`“${called}” must be a number from ${field.min} to ${field.max}, or empty.`);
  }
  if (megapixels.value) asked.set("max_pixels", Math.round(megapixels.value * 1e6));
  if (candidates.value) asked.set("max_matches", candidates.value);
  if ($("#mirrored").checked) asked.set("mirrored", 1);
  if (views) asked.set("view_synthesis", 1);
  const text = asked.toString();
  return text && `?${text}`;
}

/* XMLHttpRequest, because fetch can't tell how far an upload is. */
function upload(files, match, asked) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest(), form = new FormData();
    files.forEach((file, k) => form.append(`image${k}`, file));
    request.open("POST", `/matches${asked}`);
    request.responseType = "json";
    request.upload.onprogress = (event) => {
      if (match === current) progress("Uploading", 15 * event.loaded / event.total);
    };
    request.onload = () => {
      if (request.status === 202) match.id = request.response.id;
      return match.id
        ? resolve(request.response)
        : reject(new Error(sentence(request.response?.error ?? `The server answered ${request.status}`)));
    };
    request.onerror = () => reject(new Error("The server can't be reached."));
    request.onabort = () => reject(new Error("The match was deleted or stopped."));
    match.abort.signal.addEventListener("abort", () => request.abort());
    progress("Uploading", 0);
    request.send(form);
  });
}

async function follow(status, match) {
  for (let wait = 150; match === current; wait = Math.min(wait * 1.2, 1000)) {
    if (status.state === "waiting") progress(`Waiting (${status.before} ahead in the queue)`, 15);
    if (status.state === "running") progress(steps[status.step], 15 + 85 * status.done / status.of);
    if (status.state === "failed") throw new Error(sentence(status.error));
    if (status.state === "done") return finish(status);
    await new Promise((resolve) => setTimeout(resolve, wait));
    const answer = await fetch(`/matches/${match.id}`, { signal: match.abort.signal });
    status = await answer.json();
    if (!answer.ok) throw new Error(sentence(status.error));
  }
}

function progress(text, percent) {
  show("#progress", true);
  if ($("#stage").textContent !== text) { $("#stage").textContent = text; say(text); }
  $("#bar").value = percent;
}

function finish(match) {
  show("#progress", false);
  const link = (name, text, download) => {
    const a = document.createElement("a");
    a.className = "button";
    a.href = `/matches/${match.id}/${name}`;
    a.textContent = text;
    // the server names a download after the pictures
    if (download) a.download = ""; else { a.target = "_blank"; a.rel = "noopener"; }
    return a;
  };
  const texts = {
    "matches.html": "Report (HTML)", "matches.json": "Objects (JSON)", "matches.npz": "Matches (NumPy)",
    "matches.png": "Picture (PNG)",
  };
  const links = (named) => Object.keys(named).filter((name) => match.files.includes(name)).map((name) => link(name, named[name], true));
  const harder = document.createElement("button");
  harder.type = "button";
  harder.textContent = "Look harder";
  harder.title = "Also match simulated views of both pictures, for pictures taken from very different directions";
  harder.addEventListener("click", () => find(true));
  $("#told").textContent = sentence(match.told).replace(/\.$/, "");
  $("#files").replaceChildren(
    ...(match.look_harder ? [harder] : []), link("matches.html", "Open in a tab", false), ...links(texts));
  $("#formats div").replaceChildren(...links(match.formats));
  const lines = match.lines.map(sentence);
  if (match.look_harder) {
    lines.push("Pictures taken from very different directions may still show the same surface: “Look harder” also matches simulated views of both, which takes about 13 times as long.");
  }
  $("#lines").replaceChildren(...lines.map((text) => {
    const line = document.createElement("li");
    line.textContent = text;
    return line;
  }));
  // a new frame each time: in an old one, the browser's Back button would lead to the report of other pictures
  const report = document.createElement("iframe");
  report.id = "report";
  report.title = match.names.length > 1 ? "Report: both pictures with their common objects" : "Report: the picture with what it shows more than once";
  report.setAttribute("sandbox", "allow-scripts");
  report.src = `/matches/${match.id}/matches.html`;
  reportHeight = 0;
  $("#result").append(report);
  document.body.classList.add("done");
  show("#result", true);
  say(match.told);
  $("#told").focus({ preventScroll: true });
  fit();
  if (narrow.matches) $("#result").scrollIntoView(); else window.scrollTo(0, 0);
}

/* The report as high as the window has room for; where that is little, as high as it is itself, and shown: then only
   the page scrolls. */
function fit() {
  const report = $("#report");
  if (!report) return;
  const room = window.innerHeight - (report.getBoundingClientRect().top + window.scrollY) - 12;
  const whole = narrow.matches || room < 420;
  report.style.height = `${whole ? reportHeight || window.innerHeight : room}px`;
  report.contentWindow.postMessage({ windowHeight: whole ? window.innerHeight : room }, "*");
}

let reportHeight = 0;
window.addEventListener("message", (event) => {
  if (event.source !== $("#report")?.contentWindow || !Number.isFinite(event.data?.reportHeight)) return;
  reportHeight = event.data.reportHeight + 2;  // its border
  fit();
});
window.addEventListener("resize", fit);

function sentence(text) {
  const end = /[.!?]$/.test(text) ? "" : ".";
  const start = text.includes(": ") ? text.charAt(0) : text.charAt(0).toUpperCase();  // a file keeps its name
  return start + text.slice(1) + end;
}
