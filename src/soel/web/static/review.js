// All decisions, to look through and to change.

import { get, persist, post } from "./api.js";
import { SIGNS, apart, choices, find, itemLink, make, press, retrying, stored, tell } from "./dom.js";
import { t } from "./text.js";

const VERDICTS = ["anomaly", "normal", "unsure", "skip"];
const KINDS = { aside: ["unsure", "skip"] };
const isOwner = "owner" in find("rows").dataset;
let decisions = [];

function entry(decision) {
  const group = choices(decision.title, decision.mine, (verdict, own) => change(decision, verdict, own), VERDICTS);
  const by = make("p", { class: "muted small" }, `${t("review.by")} `, apart(decision.who.join(", ")));
  const notes = decision.notes.map((note) => make("p", { class: "small" }, apart(note.text), make("span", { class: "muted" }, " – ", apart(note.who))));
  return make("li", {}, itemLink(decision), make("div", {}, group, ...counted(decision)), make("div", {}, by, ...notes));
}

// What counts, where it is not simply the user's own answer.
function counted({ item, title, verdict, mine, decided }) {
  if (mine === verdict && !decided) return [];
  const key = verdict === "disagreement" ? "review.disagree" : decided ? "review.decided" : "review.counts";
  const words = t(key, { verdict: t(`said.${verdict}`) });
  const back = decided && isOwner ? [make("button", { type: "button", class: "plain-button", onclick: () => takeBack(item, title) }, t("review.take_back"))] : [];
  return [make("p", { class: `small ${verdict}` }, `${SIGNS[verdict]} ${words} `, ...back)];
}

async function change(decision, verdict, group) {
  try {
    await persist(() => post("/api/answers", { item: decision.item, verdict }), retrying);
    press(group, verdict);
    stored(decision.title, verdict);
    await load(group.closest("li"));
  } catch (error) {
    tell(error);
  }
}

async function takeBack(item, title) {
  try {
    await persist(() => post("/api/decisions", { item, verdict: null }), retrying);
    stored(title, "disagreement");
    await load();
    show();
  } catch (error) {
    tell(error);
  }
}

// Reads the decisions; an entry that was changed stays where it is and is drawn anew.
async function load(changed = null) {
  decisions = await persist(() => get("/api/decisions"), retrying);
  summarise();
  const own = decisions.find(({ item }) => item === changed?.dataset.item);
  const held = document.activeElement?.dataset.verdict;
  if (!own) return;
  const fresh = drawn(own);
  changed.replaceWith(fresh);
  if (held) fresh.querySelector(`[data-verdict=${held}]`).focus(); // the keyboard stays where it was
}

function drawn(decision) {
  const node = entry(decision);
  node.dataset.item = decision.item;
  return node;
}

const isShown = (decision, filter) => filter === "" || (KINDS[filter] ?? [filter]).includes(decision.verdict);

function summarise() {
  const count = (filter) => decisions.filter((decision) => isShown(decision, filter)).length;
  const parts = [t("count.anomalies", { n: count("anomaly") }), t("count.normals", { n: count("normal") }), t("count.aside", { n: count("aside") })];
  if (count("disagreement")) parts.push(t("count.disagreements", { n: count("disagreement") }));
  find("summary").textContent = parts.join(" · ");
}

function show() {
  const shown = decisions.filter((decision) => isShown(decision, find("filter").value));
  find("rows").replaceChildren(...shown.map(drawn));
  find("empty").hidden = shown.length > 0;
}

find("filter").addEventListener("change", show);
try {
  await load();
  show();
} catch (error) {
  tell(error);
}
