// Who labelled what, where people differ, the owner's word, invitations.

import { get, persist, post } from "./api.js";
import { SIGNS, apart, choices, find, itemLink, make, retrying, stored, tell } from "./dom.js";

const isOwner = find("invite") !== null;

function annotator(person) {
  const cells = [person.n_anomaly, person.n_normal, person.n_aside].map((n) => make("td", { class: "number" }, String(n)));
  return make("tr", {}, make("th", { scope: "row" }, apart(person.name)), ...cells);
}

function disagreement(entry) {
  const said = Object.fromEntries(entry.notes.map(({ who, text }) => [who, text]));
  const votes = Object.entries(entry.votes).map(([who, verdict]) =>
    make("p", {}, apart(who), ": ", make("span", { class: verdict }, `${SIGNS[verdict]} ${verdict}`), ...(who in said ? [make("span", { class: "muted small" }, " – ", apart(said[who]))] : [])),
  );
  const decision = isOwner ? [choices(entry.title, null, (verdict) => decide(entry, verdict))] : [];
  return make("li", {}, itemLink(entry), make("div", {}, ...votes), ...decision);
}

function show(team) {
  find("agreement").textContent = team.agreement;
  find("annotators").replaceChildren(...team.annotators.map(annotator));
  find("disagreements").replaceChildren(...team.disagreements.map(disagreement));
  find("agreed").hidden = team.disagreements.length > 0;
}

async function decide({ item, title }, verdict) {
  try {
    show(await persist(() => post("/api/decisions", { item, verdict }), retrying));
    stored(title, verdict);
  } catch (error) {
    tell(error);
  }
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
    tell(error);
  }
});

try {
  show(await persist(() => get("/api/team"), retrying));
} catch (error) {
  tell(error);
}
