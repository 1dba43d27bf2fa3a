// All decisions, to look through and to change.

import { get, post } from "./api.js";
import { SIGNS, apart, choices, find, make, press, say, status } from "./dom.js";

const VERDICTS = ["anomaly", "normal", "unsure", "skip"];
let decisions = [];

function row(decision) {
  const address = `/?${new URLSearchParams({ item: decision.item })}`;
  const group = choices(decision.item, decision.mine, (verdict, own) => change(decision, verdict, own), VERDICTS);
  const differs = decision.mine !== decision.verdict || decision.decided;
  const holds = `${SIGNS[decision.verdict]} ${decision.verdict}${decision.decided ? ", the owner decided" : ""}`;
  const notes = decision.notes.map((note) => make("div", {}, apart(note.text), " ", make("span", { class: "muted small" }, "– ", apart(note.who))));
  return make(
    "tr",
    {},
    make("td", {}, make("a", { href: address }, apart(decision.item))),
    make("td", {}, group, ...(differs ? [make("div", { class: `small ${decision.verdict}` }, `holds: ${holds}`)] : [])),
    make("td", {}, apart(decision.who.join(", "))),
    make("td", {}, ...notes),
  );
}

async function change(decision, verdict, group) {
  try {
    await post("/api/answers", { item: decision.item, verdict });
    press(group, verdict);
    status(`✓ Saved: ${decision.item} is ${verdict}`, "saved");
    say(`Saved: ${decision.item} is ${verdict}.`);
    decisions = await get("/api/decisions");
    summarise();
  } catch (error) {
    status(error.message, "trouble");
    say(error.message);
  }
}

const KINDS = { aside: ["unsure", "skip"] };
const isShown = (decision, filter) => filter === "" || (KINDS[filter] ?? [filter]).includes(decision.verdict);

function summarise() {
  const count = (filter) => decisions.filter((decision) => isShown(decision, filter)).length;
  const parts = [`${count("anomaly")} anomalies`, `${count("normal")} normals`, `${count("aside")} unsure or skipped`];
  if (count("disagreement")) parts.push(`${count("disagreement")} disagreements`);
  find("summary").textContent = parts.join(" · ");
}

function show() {
  const shown = decisions.filter((decision) => isShown(decision, find("filter").value));
  find("rows").replaceChildren(...shown.map(row));
  find("empty").hidden = shown.length > 0;
  summarise();
}

find("filter").addEventListener("change", show);
decisions = await get("/api/decisions");
show();
