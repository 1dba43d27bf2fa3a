// Who is to label which open item: the owner's part of the team page.

import { apart, find, itemLink, make, status, tell } from "./dom.js";
import { change } from "./sync.js";
import { t } from "./text.js";

// onChange(team): after something was assigned
export function showAssignments(team, onChange) {
  const { open, n_open: total, people, answers_per_item: wanted } = team;
  const send = async (to, items) => {
    try {
      onChange(await change("assignments", "/api/assignments", { to, items }));
      status(t("assign.saved"), "saved");
    } catch (error) {
      tell(error);
    }
  };
  const chosen = new Set([...document.querySelectorAll("#assign input:checked")].map(({ value }) => value));
  find("assign-people").replaceChildren(...people.map((name) => person(name, chosen.has(name))));
  find("assign-items").replaceChildren(...open.map((entry) => openItem(entry, people, wanted, send)));
  find("assign-rest").textContent = total > open.length ? t("assign.rest", { n: total - open.length }) : "";
  find("assign-none").hidden = total > 0;
  find("assign").onsubmit = (event) => {
    event.preventDefault();
    const to = [...document.querySelectorAll("#assign input:checked")].map(({ value }) => value);
    if (to.length === 0) return status(t("assign.nobody"), "trouble");
    send(to, null);
  };
  find("assign-free").disabled = total === 0;
  find("assign-free").onclick = () => send([], null);
}

const person = (name, checked) => make("label", { class: "person" }, make("input", { type: "checkbox", value: name, checked }), " ", apart(name));

// A button for each person; with one more than an item wants, the one chosen first gives way.
function openItem(entry, people, wanted, send) {
  const group = make("span", { class: "choices", role: "group", "aria-label": t("assign.who", { title: entry.title }) });
  for (const name of people) {
    const held = entry.to.includes(name);
    const names = held ? entry.to.filter((other) => other !== name) : [...entry.to, name].slice(-wanted);
    group.append(make("button", { type: "button", "aria-pressed": String(held), onclick: () => send(names, [entry.item]) }, apart(name)));
  }
  const words = make("span", { class: "muted small" }, entry.to.length ? "" : t("assign.anybody"));
  return make("li", {}, itemLink(entry), words, group);
}
