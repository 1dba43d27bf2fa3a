// The results: the share, the threshold, the map, the alarms one by one, and whether to go on.

import { bytes, get, post, wait } from "./api.js";
import { fieldList } from "./card.js";
import { offerMaps } from "./gallery.js";
import { offerChecks, showCheck } from "./check.js";
import { choices, find, imageAddress, itemLink, make, say, stored, tell } from "./dom.js";
import { Histogram } from "./histogram.js";
import { ItemList, scored, settle } from "./list.js";
import { PointMap } from "./map.js";
import { showSummary } from "./reasons.js";
import { again, change, read } from "./sync.js";
import { figures, percent, t } from "./text.js";
import { showTimeline } from "./timeline.js";
import { showWords, showWork } from "./waiting.js";

const SIZE = 20;
const WORTH = 3; // labels that the mean probability of alarms is worth
let results, arrays, session;
let shown = { threshold: null, page: 1 };
let pause = 0;
let picked = null; // the item beside the map
const list = new ItemList(find("top"), (page) => act(() => showAlarms(page)), (about) => settled(about));
const histogram = new Histogram(find("histogram"), (threshold) => showThreshold(threshold));
const map = new PointMap(find("map"), (row) => act(() => showPicked(row)));

function split(buffer) {
  const values = new Float32Array(buffer);
  const n = values.length / 4;
  const part = (at) => values.subarray(at * n, (at + 1) * n);
  return { x: part(0), y: part(1), score: part(2), probability: part(3) };
}

function showHeadline() {
  const { value, low, high } = results.share;
  const items = t("count.items", { n: results.n_items });
  find("headline").textContent = t("results.headline", { share: percent(value), items, low: percent(low), high: percent(high), n: results.n_labels });
  find("stale").hidden = results.fit_is_current;
  find("advice").replaceChildren(...results.advice.map((words) => make("li", {}, words)));
  showCheck(results);
}

// How many alarms are real, roughly: as soel.assess.quality.alarms has it.
function realAlarms(threshold) {
  const known = new Map(results.labelled.map(({ row, verdict }) => [row, verdict]));
  let [n, sum, found] = [0, 0, 0];
  arrays.score.forEach((score, row) => {
    if (!(score > threshold)) return;
    if (known.has(row)) found += known.get(row) === "anomaly" ? 1 : 0;
    else [n, sum] = [n + 1, sum + arrays.probability[row]];
  });
  if (n === 0) return { low: found, high: found };
  const mean = Math.min(1 - 1e-3, Math.max(1e-3, sum / n));
  const [a, b] = [WORTH * mean, WORTH * (1 - mean)];
  const odds = [0]; // logarithms, of 0 to n real ones
  for (let k = 0; k < n; k++) odds.push(odds[k] + Math.log((n - k) / (k + 1)) + Math.log((k + a) / (n - k - 1 + b)));
  const most = odds.reduce((x, y) => Math.max(x, y));
  const mass = odds.map((each) => Math.exp(each - most));
  const total = mass.reduce((x, y) => x + y);
  const at = (part) => {
    let [k, below] = [0, mass[0]];
    while (k < n && below < part * total) below += mass[++k];
    return found + k;
  };
  return { low: at(0.1), high: at(0.9) };
}

function expected({ low, high }) {
  if (high === 0) return t("results.expected_none");
  return low === high ? t("results.expected_same", { n: low }) : t("results.expected", { low, high });
}

function showThreshold(threshold) {
  const n = histogram.alarmsAbove(threshold);
  find("alarms").value = n;
  const alarms = () => `${t("results.threshold", { n, threshold: figures(threshold) })} ${expected(realAlarms(threshold))}`;
  find("threshold-words").textContent = n === 0 ? t("results.no_alarms") : alarms();
  for (const kind of find("download-csv") ? ["csv", "parquet", "xlsx", "json"] : []) {
    find(`download-${kind}`).href = `/api/scores.${kind}?${new URLSearchParams({ threshold })}`;
  }
  find("browse").href = `/items?${new URLSearchParams(query(threshold))}`;
  if (shown.threshold === threshold) return;
  shown.threshold = threshold;
  clearTimeout(pause); // a line that is dragged passes by many thresholds
  pause = setTimeout(() => act(() => showAlarms(1)), 250);
}

const query = (threshold) => ({ alarms: "true", threshold, sort: "unlabelled" });

async function showAlarms(page) {
  shown.page = page;
  const found = await list.load({ ...query(shown.threshold), page, size: SIZE });
  if (found !== null && page === 1) await showTimeline(shown.threshold); // the list does not wait for it
}

async function refresh() {
  const found = await read("results", "/api/results");
  if (found === null) return;
  results = found;
  histogram.labelled = map.labelled = results.labelled;
  histogram.render();
  map.render();
  showHeadline();
}

// An answer that was given in the list or beside the map is shown in both.
async function settled({ item, verdict }) {
  list.settle(item, verdict);
  picked?.item === item && picked.show(verdict);
  await refresh();
}

async function answer({ item, title }, verdict) {
  try {
    const reply = await change(item, "/api/answers", { item, verdict });
    if (reply === null) return; // a newer answer is on its way
    stored(title, reply.about.verdict);
    await settled(reply.about);
  } catch (error) {
    tell(error);
  }
}

async function showPicked(row) {
  const place = await read("row", "/api/row", { row });
  if (place === null) return; // another item was chosen meanwhile
  const shown = await read("picked", "/api/item", { id: place.item });
  if (shown === null) return;
  const { item, title } = shown;
  const look = shown.kind === "table" ? fieldList(shown.fields.slice(0, Math.max(3, Math.min(6, shown.n_standing_out)))) : make("img", { class: "map-picture", src: imageAddress(item, 512), alt: "" });
  const held = shown.verdict ?? results.labelled.find((each) => each.row === row)?.verdict ?? null;
  const known = { score: arrays.score[row], probability: arrays.probability[row] };
  const group = choices(title, held, (verdict) => answer({ item, title }, verdict));
  find("map-item").replaceChildren(
    make("h3", {}, itemLink({ item, title, kind: "table" })),
    scored({ ...known, verdict: held }),
    look,
    group,
  );
  picked = { item, show: (verdict) => settle(group, known, verdict) };
}

async function load() {
  [results, arrays] = await Promise.all([read("results", "/api/results"), again(() => bytes("/api/map")).then(split)]);
  find("waiting").hidden = true;
  find("results").hidden = false;
  showHeadline();
  shown = { threshold: results.threshold, page: 1 };
  histogram.show(arrays.score, results.labelled);
  map.show(arrays, results.labelled);
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
  offerMaps(find("gallery"), list, () => act(() => showAlarms(shown.page)));
  await showAlarms(1);
  await showSummary();
  say(t("results.shown"));
}

// Waits for a training that runs, then shows the results; says what to do where there are none.
async function begin() {
  for (;;) {
    session = await again(() => get("/api/status"), away);
    const { work } = session;
    const isAtWork = work?.running ?? false;
    find("waiting").hidden = false;
    if (isAtWork && work.what !== "ask") {
      find("results").hidden = true;
      showWork(work, [[t("button.review_mine"), "/review"]]);
    } else if (work?.error) {
      const again = session.is_owner ? [[t("button.again"), async () => (await post("/api/go-on"), begin())]] : [];
      return showWork(work, [...again, [t("button.label"), "/"]]);
    } else if (!session.has_results) {
      return showWords(t("results.none"), t("results.none_words"), [[t("button.label"), "/"]]);
    } else if (!session.results_ready) {
      find("results").hidden = true;
      showWork({ what: "look", running: true, done: 0, total: 0 });
      if (!isAtWork) await post("/api/look");
    } else {
      return load();
    }
    await wait(700);
  }
}

const away = (error) => showWords(t("results.reading"), t("server.again", { error: error.message }));

async function act(task) {
  try {
    await task();
  } catch (error) {
    tell(error);
    if (!results) showWords(t("results.cannot"), error.message, [[t("button.again"), () => location.reload()]]);
  }
}

async function train() {
  if (session.n_disputes > 0 && !results.asked) {
    results.asked = true; // a second click means it
    find("stale-words").textContent = `${t("done.disputes", { n: session.n_disputes })}. ${t("done.disputes_owner")}`;
    find("train").textContent = t("button.without");
    return;
  }
  await post("/api/train", { despite_disputes: session.n_disputes > 0 });
  await begin();
}

find("train")?.addEventListener("click", () => act(train));
find("more")?.addEventListener("click", () => act(async () => (await post("/api/more", { n: 10 }), location.assign("/"))));
offerChecks(act);
find("zoom-in").addEventListener("click", () => map.zoom(1.4));
find("zoom-out").addEventListener("click", () => map.zoom(1 / 1.4));
find("zoom-all").addEventListener("click", () => map.showAll());
act(begin);
