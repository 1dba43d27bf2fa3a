// The results: the share, the threshold, the map, the most anomalous items, and whether to go on.

import { ApiError, bytes, get, post, wait } from "./api.js";
import { fieldList } from "./card.js";
import { apart, choices, find, imageAddress, make, press, say, status } from "./dom.js";
import { Histogram } from "./histogram.js";
import { PointMap } from "./map.js";
import { showWords, showWork } from "./waiting.js";

let results, arrays, histogram, map;

const percent = (share) => (share > 0 && share < 0.01 ? `${(100 * share).toFixed(1)} %` : `${Math.round(100 * share)} %`);
const count = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

function split(buffer) {
  const values = new Float32Array(buffer);
  const n = values.length / 4;
  const part = (at) => values.subarray(at * n, (at + 1) * n);
  return { x: part(0), y: part(1), score: part(2), probability: part(3) };
}

function showHeadline() {
  const { value, low, high } = results.share;
  find("headline").textContent =
    `About ${percent(value)} of ${count(results.n_items, "item")} look anomalous (80 % sure: between ${percent(low)} and ` +
    `${percent(high)}), learned from ${count(results.n_labels, "label")}.`;
  find("stale").hidden = results.fit_is_current;
  find("worth").replaceChildren(...results.worth.map((words) => make("li", {}, words)));
}

function showThreshold(threshold) {
  const n = histogram.alarmsAbove(threshold);
  let expected = 0;
  arrays.score.forEach((score, row) => (expected += score > threshold ? arrays.probability[row] : 0));
  find("alarms").value = n;
  const real = n === 0 ? "" : ` About ${Math.round(expected)} of them are expected to be real.`;
  find("threshold-words").textContent = `${count(n, "alarm")} at a score above ${threshold.toPrecision(4)}.${real}`;
  for (const kind of ["csv", "parquet"]) {
    find(`download-${kind}`).href = `/api/scores.${kind}?${new URLSearchParams({ threshold })}`;
  }
}

async function answer(item, verdict, group) {
  try {
    await post("/api/answers", { item, verdict });
    press(group, verdict);
    status(`✓ Saved: ${item} is ${verdict}`, "saved");
    say(`Saved: ${item} is ${verdict}.`);
    results = await get("/api/results");
    histogram.labelled = map.labelled = results.labelled;
    histogram.render();
    map.render();
    showHeadline();
  } catch (error) {
    status(error.message, "trouble");
    say(error.message);
  }
}

function topItem(top) {
  const address = `/?${new URLSearchParams({ item: top.item })}`;
  const seen = top.kind === "table"
    ? make("div", { class: "small" }, ...top.fields.flatMap((field) => [make("span", {}, apart(field.name), " ", make("b", {}, apart(field.value))), make("span", { class: "muted" }, ` ${field.words}`), make("br")]))
    : make("img", { class: "thumb", src: imageAddress(top.item, 256), alt: "", loading: "lazy" });
  const rank = make("span", { class: "rank" }, `${top.rank}.`);
  const score = make("span", { class: "muted small" }, ` score ${top.score.toPrecision(4)}, ${percent(top.probability)} likely`);
  return make("li", {}, rank, make("div", {}, make("a", { href: address }, apart(top.item)), make("br"), score), seen,
    choices(top.item, top.verdict, (verdict, group) => answer(top.item, verdict, group)));
}

async function showPicked(row) {
  const { item } = await get("/api/row", { row });
  const shown = await get("/api/item", { id: item });
  const address = `/?${new URLSearchParams({ item })}`;
  const look = shown.kind === "table" ? fieldList(shown.fields.slice(0, Math.max(3, Math.min(6, shown.n_standing_out)))) : make("img", { class: "picture", src: imageAddress(item, 512), alt: "" });
  const held = results.labelled.find((each) => each.row === row)?.verdict ?? null;
  find("map-item").replaceChildren(
    make("h3", {}, make("a", { href: address }, apart(shown.title))),
    make("p", { class: "muted small" }, `score ${arrays.score[row].toPrecision(4)}, ${percent(arrays.probability[row])} likely an anomaly`),
    look,
    choices(item, held, (verdict, group) => answer(item, verdict, group)),
  );
}

async function load() {
  [results, arrays] = await Promise.all([get("/api/results"), bytes("/api/map").then(split)]);
  find("waiting").hidden = true;
  find("results").hidden = false;
  showHeadline();
  find("top").replaceChildren(...results.top.map(topItem));
  histogram = new Histogram(find("histogram"), arrays.score, results.labelled, showThreshold);
  map = new PointMap(find("map"), arrays, results.labelled, showPicked);
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
    const desk = await get("/api/desk");
    const isAtWork = desk.work?.running ?? false;
    find("waiting").hidden = false;
    if (isAtWork && desk.work.what === "fit") {
      find("results").hidden = true;
      showWork(desk.work, [["Review my decisions", "/review"]]);
    } else if (desk.work?.error) {
      return showWork(desk.work, [["Try again", async () => (await post("/api/go-on"), begin())], ["Label", "/"]]);
    } else if (!desk.has_results) {
      return showWords("There are no results yet", "Answer the open items first; then the detector learns from them.", [["Label", "/"]]);
    } else {
      return load();
    }
    await wait(700);
  }
}

async function act(task) {
  try {
    await task();
  } catch (error) {
    status(error.message, "trouble");
    say(error.message);
    if (error instanceof ApiError && error.status === 401) location.assign("/welcome");
  }
}

find("train").addEventListener("click", () => act(async () => (await post("/api/train"), begin())));
find("more").addEventListener("click", () => act(async () => (await post("/api/more", { n: 10 }), location.assign("/"))));
find("zoom-in").addEventListener("click", () => map.zoom(1.4));
find("zoom-out").addEventListener("click", () => map.zoom(1 / 1.4));
find("zoom-all").addEventListener("click", () => map.showAll());
act(begin);
