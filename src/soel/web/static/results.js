// The results: where alarms start, the alarms and the chosen one, the map, what more labels would do.

import { bytes, get, post, wait } from "./api.js";
import { find, say, tell } from "./dom.js";
import { Histogram } from "./histogram.js";
import { Inbox } from "./inbox.js";
import { PointMap } from "./shared/map.js";
import { again, isNewest, read } from "./sync.js";
import { t } from "./text.js";
import { showTimeline } from "./timeline.js";
import { showWords, showWork } from "./waiting.js";

const SIZE = 20;
const place = find("results"); // not there before the first training
const view = {}; // what the list calls once the results are shown
const inbox = place && new Inbox((page) => view.turn?.(page), () => view.refresh?.()); // heeds clicks from the start
let session;
let pause = 0;

async function act(task) {
  try {
    await task();
  } catch (error) {
    tell(error);
    if (place === null) showWords(t("results.cannot"), error.message, [[t("button.again"), () => location.reload()]]);
  }
}

// Waits for a training that runs; says what to do where there are no results. The page is loaded anew for new ones.
async function begin() {
  for (let waited = false; ; waited = true) {
    session = await again(() => get("/api/status"));
    const { work } = session;
    const isAtWork = work?.running ?? false;
    const showWaiting = () => {
      find("waiting").hidden = false;
      if (place) place.hidden = true;
    };
    if (isAtWork && work.what !== "ask") {
      showWaiting();
      showWork(work, [[t("button.review_mine"), "/review"]]);
    } else if (work?.error) {
      const retry = session.is_owner ? [[t("button.again"), async () => (await post("/api/go-on"), begin())]] : [];
      showWaiting();
      return showWork(work, [...retry, [t("button.label"), "/"]]);
    } else if (!session.has_results) {
      return showWords(t("results.none"), t("results.none_words"), [[t("button.label"), "/"]]);
    } else if (!session.results_ready) {
      showWaiting();
      showWork({ what: "look", running: true, done: 0, total: 0 });
      if (!isAtWork) await post("/api/look");
    } else if (waited || place === null) {
      return location.reload();
    } else {
      return show();
    }
    await wait(700);
  }
}

async function show() {
  const own = Number(place.dataset.threshold);
  const shown = { threshold: own, page: 1 };
  const histogram = new Histogram(find("handle"), place.dataset, (threshold) => showThreshold(threshold));
  const map = new PointMap(find("map"), (row) => act(async () => inbox.showAt(find("map-item"), (await get("/api/row", { row })).item)));
  const chosen = () => Object.fromEntries([...new FormData(find("tools"))].filter(([, value]) => value !== ""));
  const query = () => ({ alarms: "true", threshold: shown.threshold, ...chosen() });

  async function showAlarms(page) {
    shown.page = page;
    await inbox.load({ ...query(), page, size: SIZE });
  }

  function showThreshold(threshold) {
    const n = histogram.alarmsAbove(threshold);
    find("alarms").value = n;
    for (const link of document.querySelectorAll("a[data-form]")) link.href = `/api/scores.${link.dataset.form}?${new URLSearchParams({ threshold })}`;
    if (shown.threshold === threshold) return;
    shown.threshold = threshold;
    clearTimeout(pause); // a line that is dragged passes by many thresholds
    pause = setTimeout(() => act(async () => (await showAlarms(1), showTimeline(threshold))), 250);
  }

  // What an answer changes.
  async function refresh() {
    const found = await read("results", "/api/results");
    if (found === null) return;
    for (const [id, html] of Object.entries(found.html)) if (find(id)) find(id).innerHTML = html; // escaped by the server
    find("stale").hidden = found.fit_is_current;
    map.labelled = found.labelled;
    map.render();
  }

  Object.assign(view, { turn: (page) => act(() => showAlarms(page)), refresh });
  const set = (threshold) => (histogram.set(threshold), showThreshold(threshold));
  find("reset-threshold").onclick = () => set(own);
  const setNumber = () => histogram.sorted.length && set(histogram.thresholdFor(Math.round(Number(find("alarms").value))));
  find("alarms").onchange = setNumber;
  find("tools").onchange = () => act(() => showAlarms(1));
  find("tools").onsubmit = (event) => event.preventDefault();
  find("common")?.addEventListener("click", ({ target }) => {
    if (!target.dataset.pattern) return;
    find("tools").elements.pattern.value = target.dataset.pattern;
    act(async () => (await showAlarms(1), find("top-title").scrollIntoView(), inbox.focus()));
  });
  find("zoom-in").onclick = () => map.zoom(1.4);
  find("zoom-out").onclick = () => map.zoom(1 / 1.4);
  find("zoom-all").onclick = () => map.showAll();
  const { sort, ...filters } = chosen(); // the page is there before its script: something may be chosen already
  const isPlain = sort === "unlabelled" && Object.keys(filters).length === 0;
  if (isPlain && (await isNewest(Number(place.dataset.version)))) {
    inbox.pager(1, Number(place.dataset.pages));
    inbox.begin();
  } else await showAlarms(1); // an answer of this window was stored since the page was made
  const values = new Float32Array(await again(() => bytes("/api/map")));
  const part = (at) => values.subarray((at * values.length) / 4, ((at + 1) * values.length) / 4);
  histogram.show(part(2), own);
  if (find("alarms").value !== find("alarms").defaultValue) setNumber();
  map.show({ x: part(0), y: part(1), score: part(2) }, []);
  await refresh();
  await showTimeline(shown.threshold);
  await inbox.offerMaps();
  say(t("results.shown"));
}

async function train() {
  if (session.n_disputes > 0 && !place.dataset.asked) {
    place.dataset.asked = "yes"; // a second click means it
    find("stale-words").textContent = `${t("done.disputes", { n: session.n_disputes })}. ${t("done.disputes_owner")}`;
    find("train").textContent = t("button.without");
    return;
  }
  await post("/api/train", { despite_disputes: session.n_disputes > 0 });
  place.hidden = true;
  await begin();
  location.reload();
}

const ask = (n, purpose) => act(async () => (await post("/api/more", { n: Number(n), purpose }), location.assign("/")));
find("train")?.addEventListener("click", () => act(train));
for (const button of document.querySelectorAll("button[data-purpose]")) button.onclick = () => ask(button.dataset.ask, button.dataset.purpose);
for (const form of document.querySelectorAll("form[data-purpose]")) {
  form.onsubmit = (event) => (event.preventDefault(), ask(form.elements.n.value, form.dataset.purpose));
}
act(begin);
