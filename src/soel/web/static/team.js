// Who labelled what, where people differ, the owner's word, invitations, and who is signed in.

import { get, post } from "./api.js";
import { showAssignments } from "./assign.js";
import { fieldList } from "./card.js";
import { SIGNS, apart, choices, filled, find, imageAddress, itemLink, make, status, stored, tell } from "./dom.js";
import { showMapsChoice } from "./maps.js";
import { change, read } from "./sync.js";
import { language, number, t } from "./text.js";

const isOwner = find("invite") !== null;
let version = 0; // of what is on the page

function annotator(person) {
  const time = person.seconds === null ? t("team.no_time") : t("team.seconds", { n: Math.max(1, Math.round(person.seconds)) });
  const minutes = t("team.minutes", { n: Math.round(person.minutes) });
  const cells = [number(person.n_answers), number(person.n_assigned), time, minutes, ...[person.n_anomaly, person.n_normal, person.n_aside].map(number)];
  return make("tr", {}, make("th", { scope: "row" }, apart(person.name)), ...cells.map((text) => make("td", { class: "number" }, text)));
}

function disagreement(entry) {
  const said = Object.fromEntries(entry.notes.map(({ who, text }) => [who, text]));
  const votes = Object.entries(entry.votes).map(([who, verdict]) =>
    make("p", {}, apart(who), ": ", make("span", { class: verdict }, `${SIGNS[verdict]} ${t(`said.${verdict}`)}`), ...(who in said ? [make("span", { class: "muted small" }, " – ", apart(said[who]))] : [])),
  );
  const decision = isOwner ? [choices(entry.title, null, (verdict) => decide(entry, verdict))] : [];
  const look = entry.kind === "table" ? fieldList(entry.fields) : make("img", { class: "dispute-picture", src: imageAddress(entry.item, 512), alt: "" });
  return make("li", {}, make("div", {}, itemLink({ ...entry, kind: "table" }), ...votes, ...decision), look);
}

function show(team) {
  if (team === null || team.version < version) return; // what is on the page is newer
  version = team.version;
  find("agreement").textContent = team.agreement;
  find("annotators").replaceChildren(...team.annotators.map(annotator));
  find("disagreements").replaceChildren(...team.disagreements.map(disagreement));
  find("agreed").hidden = team.disagreements.length > 0;
  if (isOwner) showAssignments(team, show);
}

async function decide({ item, title }, verdict) {
  try {
    const team = await change(item, "/api/decisions", { item, verdict });
    if (team === null) return; // a newer decision is on its way
    show(team);
    stored(title, verdict);
  } catch (error) {
    tell(error);
  }
}

function showSignIns({ signed_in: people, invited }) {
  find("sign-ins").replaceChildren(...people.map(signIn));
  find("invited-people").textContent = invited.length ? t("team.invited", { names: invited.join(", ") }) : "";
}

function signIn(person) {
  const since = make("p", { class: "muted small" }, t("team.since", { time: new Date(person.since).toLocaleString(language) }));
  const name = make("div", {}, apart(person.name), person.is_owner ? ` (${t("team.owner")})` : "");
  const end = person.is_this_browser ? make("p", { class: "muted small" }, t("team.this_browser")) : make("button", { type: "button", onclick: () => revoke(person.name) }, t("team.out"));
  return make("li", {}, name, since, end);
}

async function revoke(name) {
  try {
    const people = await change("sign-ins", "/api/revocations", { name });
    if (people !== null) showSignIns(people);
    status(name === null ? t("team.all_out") : t("team.is_out", { name }), "saved");
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
    find("invited").textContent = t("team.give_link", { name: made.name });
    find("invite-link").value = location.origin + made.path;
    find("invite-link").select();
    showSignIns(await get("/api/sign-ins"));
  } catch (error) {
    tell(error);
  }
});

try {
  show(await read("team", "/api/team"));
  if (isOwner) showSignIns(await read("sign-ins", "/api/sign-ins"));
  if (isOwner) await showMapsChoice();
} catch (error) {
  tell(error);
}
filled();
