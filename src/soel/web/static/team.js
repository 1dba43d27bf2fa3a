// Who labelled what, where people differ, the owner's word, invitations.

import { get, persist, post } from "./api.js";
import { SIGNS, apart, choices, find, itemLink, make, retrying, status, stored, tell } from "./dom.js";

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

function showSignIns({ signed_in: people, invited }) {
  find("sign-ins").replaceChildren(...people.map(signIn));
  find("invited-people").textContent = invited.length ? `Invited, and not here yet: ${invited.join(", ")}.` : "";
}

function signIn(person) {
  const since = make("p", { class: "muted small" }, `since ${new Date(person.since).toLocaleString()}`);
  const name = make("div", {}, apart(person.name), person.is_owner ? " (owner)" : "");
  const end = person.is_this_browser ? make("p", { class: "muted small" }, "this browser") : make("button", { type: "button", onclick: () => revoke(person.name) }, "Sign out");
  return make("li", {}, name, since, end);
}

async function revoke(name) {
  try {
    showSignIns(await persist(() => post("/api/revocations", { name }), retrying));
    status(name === null ? "✓ Everybody else is signed out" : `✓ ${name} is signed out`, "saved");
  } catch (error) {
    tell(error);
  }
}

find("revoke-all")?.addEventListener("click", () => revoke(null));
find("invite")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const made = await post("/api/invitations", { name: find("invite-name").value });
    find("invitation").hidden = false;
    find("invited").textContent = made.name;
    find("invite-link").value = location.origin + made.path;
    find("invite-link").select();
    showSignIns(await get("/api/sign-ins"));
  } catch (error) {
    tell(error);
  }
});

try {
  show(await persist(() => get("/api/team"), retrying));
  if (isOwner) showSignIns(await persist(() => get("/api/sign-ins"), retrying));
} catch (error) {
  tell(error);
}
