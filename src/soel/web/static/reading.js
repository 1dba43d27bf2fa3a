// How the table was read: a line that unfolds to all columns, with what is missing, what is odd and what changes it.

import { get } from "./api.js";
import { apart, find, make, tell } from "./dom.js";
import { percent, t } from "./text.js";

const MANY = 30; // columns from which on they can be searched
let mark = ""; // of the reading on this page

function entry({ name, words, picture, examples, missing, odd, doubt, options }) {
  const unsure = doubt ? [make("p", { class: "doubt" }, `${t("columns.unsure")} ${doubt}`)] : [];
  const strange = odd.map((each) => make("p", { class: "muted" }, each));
  const cells = examples.flatMap((cell, at) => [...(at ? [", "] : []), apart(cell, { class: "cell" })]);
  const empty = missing > 0 ? [make("p", { class: "muted" }, t("columns.missing", { share: percent(missing) }))] : [];
  const bars = picture ? [make("span", { class: "bars", "aria-hidden": "true" }, picture), " "] : [];
  const others = options.map((each) => make("p", {}, `${each.words}: `, make("code", {}, apart(each.typed))));
  const row = [make("th", { scope: "row" }, apart(name)), make("td", {}, words, ...unsure, ...strange), make("td", {}, ...bars, ...cells, ...empty), make("td", { class: "small" }, ...others)];
  return make("tr", { class: doubt ? "doubtful" : "" }, ...row);
}

async function fill() {
  const rows = find("reading-rows");
  if (rows.childElementCount > 0) return;
  const columns = await get("/api/columns");
  rows.replaceChildren(...columns.map(entry));
  find("reading-find").hidden = columns.length <= MANY;
}

function search() {
  const wanted = find("reading-search").value.trim().toLowerCase();
  let n = 0;
  for (const row of find("reading-rows").children) {
    row.hidden = !row.firstElementChild.textContent.toLowerCase().includes(wanted);
    n += row.hidden ? 0 : 1;
  }
  find("reading-found").textContent = wanted ? t("reading.found", { n }) : "";
}

const remember = (open) => mark && localStorage.setItem("reading", `${mark} ${open ? "open" : "closed"}`);

// Whether somebody left it open in this browser; what was never touched is unfolded where something is not sure.
function isOpen({ unfolded }) {
  if (sessionStorage.getItem("asked") !== null) remember(false); // the owner has just answered
  sessionStorage.removeItem("asked");
  const [seen, state] = (localStorage.getItem("reading") ?? "").split(" ");
  return seen === mark ? state === "open" : unfolded;
}

// Comes after everything that somebody waits for.
export async function showReading() {
  const place = find("reading");
  if (place === null) return;
  find("reading-summary").addEventListener("click", () => remember(!place.open)); // by keys too
  place.addEventListener("toggle", () => place.open && fill().catch(tell));
  find("reading-search").addEventListener("input", search);
  try {
    const reading = await get("/api/reading");
    place.hidden = reading.n_columns === 0;
    find("reading-words").textContent = reading.words;
    find("reading-notes").replaceChildren(...reading.notes.map((words) => make("p", {}, words)));
    find("reading-notes").hidden = reading.notes.length === 0;
    place.classList.toggle("unsure", reading.n_unsure > 0);
    mark = reading.mark;
    place.open ||= reading.n_columns > 0 && isOpen(reading);
  } catch {
    // an item can be labelled without it
  }
}
