// Who labelled what, where people differ, the owner's word, invitations.

import { get, post } from "./api.js";
import { SIGNS, apart, choices, find, make, say, status } from "./dom.js";

const isOwner = find("invite") !== null;

function annotator(person) {
  const cells = [person.n_anomaly, person.n_normal, person.n_aside].map((n) => make("td", { class: "number" }, String(n)));
  return make("tr", {}, make("th", { scope: "row" }, apart(person.name)), ...cells);
}

function disagreement(entry) {
  const votes = Object.entries(entry.votes).map(([who, verdict]) =>
    make("span", { class: verdict }, apart(who), `: ${SIGNS[verdict]} ${verdict} `),
  );
  const notes = entry.notes.map((note) => make("div", { class: "muted small" }, apart(`${note.who}: ${note.text}`)));
  const address = `/?${new URLSearchParams({ item: entry.item })}`;
  return make(
    "li",
    {},
    make("span", { "aria-hidden": "true" }, "≠"),
    make("a", { href: address }, apart(entry.item)),
    make("div", {}, ...votes, ...notes),
    ...(isOwner ? [choices(entry.item, null, (verdict) => decide(entry.item, verdict))] : []),
  );
}

function show(team) {
  find("agreement").textContent = team.agreement;
  find("annotators").replaceChildren(...team.annotators.map(annotator));
  find("disagreements").replaceChildren(...team.disagreements.map(disagreement));
  find("agreed").hidden = team.disagreements.length > 0;
}

async function decide(item, verdict) {
  show(await post("/api/decisions", { item, verdict }));
  status(`✓ Saved: ${item} is ${verdict}`, "saved");
  say(`Saved: ${item} is ${verdict}.`);
}

find("invite")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const made = await post("/api/invitations", { name: find("invite-name").value });
    find("invitation").hidden = false;
    find("invited").textContent = made.name;
    find("invite-link").value = location.origin + made.path;
    find("invite-link").select();
  } catch (error) {
    status(error.message, "trouble");
    say(error.message);
  }
});

show(await get("/api/team"));
