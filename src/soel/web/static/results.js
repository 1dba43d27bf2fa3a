// The results: the share, the threshold, the map, the most anomalous items, and whether to go on.

import { bytes, get, persist, post, wait } from "./api.js";
import { fieldList } from "./card.js";
import { apart, choices, find, imageAddress, itemLink, make, many, press, retrying, say, stored, tell } from "./dom.js";
import { Histogram } from "./histogram.js";
import { PointMap } from "./map.js";
import { showWords, showWork } from "./waiting.js";

let results, arrays, histogram, map;

const percent = (share) => (share > 0 && share < 0.01 ? `${(100 * share).toFixed(1)} %` : `${Math.round(100 * share)} %`);
// A chance is never certain.
const chance = (share) => (share > 0.99 ? "more than 99 %" : share < 0.01 ? "less than 1 %" : `${Math.round(100 * share)} %`);
const scored = (score, share) => make("p", { class: "muted small" }, `${chance(share)} likely an anomaly`, make("br"), `score ${score.toPrecision(4)}`);

function split(buffer) {
  const values = new Float32Array(buffer);
  const n = values.length / 4;
  const part = (at) => values.subarray(at * n, (at + 1) * n);
  return { x: part(0), y: part(1), score: part(2), probability: part(3) };
}

function showHeadline() {
  const { value, low, high } = results.share;
  find("headline").textContent =
    `About ${percent(value)} of ${many(results.n_items, "item")} look anomalous (80 % sure: between ${percent(low)} and ` +
    `${percent(high)}), learned from ${many(results.n_labels, "label")}.`;
  find("stale").hidden = results.fit_is_current;
  find("worth").replaceChildren(...results.worth.map((words) => make("li", {}, words)));
}

function showThreshold(threshold) {
  const n = histogram.alarmsAbove(threshold);
  let expected = 0;
  arrays.score.forEach((score, row) => (expected += score > threshold ? arrays.probability[row] : 0));
  find("alarms").value = n;
  const real = n === 0 ? "" : ` About ${Math.round(expected)} of them are expected to be real anomalies.`;
  find("threshold-words").textContent = `${many(n, "alarm")}: every item with a score above ${threshold.toPrecision(4)}.${real}`;
  for (const kind of find("download-csv") ? ["csv", "parquet"] : []) {
    find(`download-${kind}`).href = `/api/scores.${kind}?${new URLSearchParams({ threshold })}`;
  }
}

async function answer({ item, title }, verdict, group) {
  try {
    await persist(() => post("/api/answers", { item, verdict }), retrying);
    press(group, verdict);
    stored(title, verdict);
    results = await get("/api/results");
    histogram.labelled = map.labelled = results.labelled;
    histogram.render();
    map.render();
    showHeadline();
  } catch (error) {
    tell(error);
  }
}

function fieldLine(field) {
  return make("p", { class: "small" }, apart(field.name), " ", make("b", {}, apart(field.value)), make("span", { class: "muted" }, ` ${field.words}`));
}

function topItem(top) {
  const values = top.fields.length ? top.fields.map(fieldLine) : [make("p", { class: "small muted" }, "No single value stands out.")];
  const rank = make("span", { class: "rank" }, `${top.rank}.`);
  const score = scored(top.score, top.probability);
  const seen = top.kind === "table" ? [make("div", {}, itemLink(top), score), make("div", {}, ...values)] : [itemLink(top), score];
  const group = choices(top.title, top.verdict, (verdict, own) => answer(top, verdict, own));
  return make("li", { class: top.kind === "table" ? "" : "media" }, rank, ...seen, group);
}

async function showPicked(row) {
  const { item } = await get("/api/row", { row });
  const shown = await get("/api/item", { id: item });
  const look = shown.kind === "table" ? fieldList(shown.fields.slice(0, Math.max(3, Math.min(6, shown.n_standing_out)))) : make("img", { class: "picture", src: imageAddress(item, 512), alt: "" });
  const held = results.labelled.find((each) => each.row === row)?.verdict ?? null;
  find("map-item").replaceChildren(
    make("h3", {}, itemLink({ item, title: shown.title, kind: "table" })),
    scored(arrays.score[row], arrays.probability[row]),
    look,
    choices(shown.title, held, (verdict, group) => answer(shown, verdict, group)),
  );
}

async function load() {
  [results, arrays] = await Promise.all([get("/api/results"), bytes("/api/map").then(split)]);
  find("waiting").hidden = true;
  find("results").hidden = false;
  showHeadline();
  find("top").replaceChildren(...results.top.map(topItem));
  histogram = new Histogram(find("histogram"), arrays.score, results.labelled, showThreshold);
  map = new PointMap(find("map"), arrays, results.labelled, (row) => act(() => showPicked(row)));
  const reset = () => {
    histogram.set(results.threshold);
    showThreshold(results.threshold);
  };
  reset();
  find("reset-threshold").onclick = reset;
  find("alarms").max = results.n_items;
  find("alarms").onchange = () => {
    const threshold = histogram.thresholdFor(Math.round(Number(find("alarms").value)));
    histogram.set(threshold);
    showThreshold(threshold);
  };
  say("The results are shown.");
}

// Waits for a training that runs, then shows the results; says what to do where there are none.
async function begin() {
  for (;;) {
    const session = await persist(() => get("/api/status"), away);
    const isAtWork = session.work?.running ?? false;
    find("waiting").hidden = false;
    if (isAtWork && session.work.what === "fit") {
      find("results").hidden = true;
      showWork(session.work, [["Review my decisions", "/review"]]);
    } else if (session.work?.error) {
      return showWork(session.work, [...(session.is_owner ? [["Try again", async () => (await post("/api/go-on"), begin())]] : []), ["Label", "/"]]);
    } else if (!session.has_results) {
      return showWords("There are no results yet", "Answer the open items first; then the detector learns from them.", [["Label", "/"]]);
    } else if (!session.results_ready) {
      find("results").hidden = true;
      showWork(session.work ?? { what: "look", running: true, done: 0, total: 0 });
      if (!isAtWork) await post("/api/look");
    } else {
      return load();
    }
    await wait(700);
  }
}

const away = (error) => showWords("Reading the results", `${error.message} Trying again …`);

async function act(task) {
  try {
    await task();
  } catch (error) {
    tell(error);
    if (!results) showWords("The results cannot be read", error.message, [["Try again", () => location.reload()]]);
  }
}

find("train")?.addEventListener("click", () => act(async () => (await post("/api/train"), begin())));
find("more")?.addEventListener("click", () => act(async () => (await post("/api/more", { n: 10 }), location.assign("/"))));
find("zoom-in").addEventListener("click", () => map.zoom(1.4));
find("zoom-out").addEventListener("click", () => map.zoom(1 / 1.4));
find("zoom-all").addEventListener("click", () => map.showAll());
act(begin);
