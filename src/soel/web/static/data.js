// What the session is called, what it holds, more data for it, and more questions.

import { get, post, wait } from "./api.js";
import { listenToForms } from "./data_more.js";
import { apart, filled, find, make, say, status, tell } from "./dom.js";
import { again, change as send } from "./sync.js";
import { language, number, percent, t } from "./text.js";
import { newUpload, sendFile } from "./upload.js";

const isOwner = find("add") !== null;
const typed = new Set(); // fields that the owner has begun to fill in: what is read meanwhile does not touch them
const COUNTS = { n_added: "data.n_added", n_replaced: "data.n_replaced", n_removed: "data.n_removed", n_displaced: "data.n_displaced" };

function change(entry, at) {
  const words = Object.entries(COUNTS).filter(([name]) => entry[name] > 0).map(([name, key]) => t(key, { n: entry[name] }));
  const what = entry.data ? apart(entry.data) : t("data.removed_name");
  const when = new Date(entry.at).toLocaleString(language, { dateStyle: "medium", timeStyle: "short" });
  const cells = [[words.join(", "), ...entry.notes].join(". "), when, at === 0 ? t("data.start") : apart(entry.who)];
  return make("tr", {}, make("th", { scope: "row" }, what), ...cells.map((cell) => make("td", {}, cell)));
}

function show(data, withText = true) {
  if (withText && isOwner) for (const field of ["name", "description"].filter((each) => !typed.has(each))) find(field).value = data[field];
  if (!isOwner) [find("name").textContent, find("description").textContent] = [data.name, data.description];
  const rows = data.n_rows === null ? "" : ` ${t("data.rows", { n: data.n_rows })}`;
  find("items").textContent = t("data.items", { n: data.n_items }) + rows;
  find("changes").replaceChildren(...data.changes.map(change));
  if (!isOwner) return;
  const open = data.n_open > 0 ? ` ${t("data.open", { n: data.n_open })}` : "";
  find("budget").textContent = t("data.budget", { n: number(data.n_labels), budget: number(data.budget) }) + open;
  const busy = Boolean(data.work?.running);
  find("ask").disabled = busy || data.n_open > 0;
  find("send").disabled = busy;
  if (busy) showProgress(t(`work.${["ask", "fit", "look", "add"].includes(data.work.what) ? data.work.what : "other"}`), data.work);
}

function showProgress(words, { done, total }) {
  find("adding").hidden = find("adding-bar").hidden = false;
  if (find("adding").textContent !== words) find("adding").textContent = words;
  if (total > 0) [find("adding-bar").max, find("adding-bar").value] = [total, done];
  else find("adding-bar").removeAttribute("value");
}

function endProgress(words) {
  find("adding-bar").hidden = true;
  find("adding").hidden = false;
  find("adding").textContent = words;
}

// Watches work that runs until it ends; says what came of it.
async function watch() {
  for (;;) {
    const data = await again(() => get("/api/data"));
    show(data, false);
    if (!data.work?.running) return data;
    await wait(400);
  }
}

async function add() {
  const upload = newUpload();
  for (const file of find("files").files) {
    const words = (share) => t("data.sending", { name: file.name, share: percent(share) });
    await sendFile(upload, file, (done, total) => showProgress(words(total ? done / total : 1), { done, total }));
  }
  await post("/api/data", { upload, replace: find("replace").checked });
  const data = await watch();
  const words = data.work?.error || t("data.added", { n: data.n_items });
  endProgress(words);
  if (!data.work?.error) find("add").reset();
}

function act(form, task) {
  const first = find(form)?.querySelector("button");
  if (first) first.disabled = false; // until now a click would have sent the form by itself, and lost what was typed
  find(form)?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = find(form).querySelector("button");
    button.disabled = true;
    try {
      await task();
    } catch (error) {
      if (form === "add") endProgress(error.message);
      tell(error);
    } finally {
      button.disabled = false;
    }
  });
}

act("add", add);
if (isOwner) for (const field of ["name", "description"]) {
  if (find(field).value !== find(field).defaultValue) typed.add(field); // before this script was there
  find(field).addEventListener("input", () => typed.add(field));
}
act("about", async () => {
  const words = { name: find("name").value, description: find("description").value };
  const data = await send("description", "/api/description", words, "PUT");
  if (data === null) return; // it was changed and sent once more
  for (const [field, text] of Object.entries(words)) if (find(field).value === text) typed.delete(field);
  show(data);
  status(t("data.saved"), "saved");
  say(t("data.saved"));
});
listenToForms(async () => show(await get("/api/data"), false));
act("questions", async () => {
  await post("/api/more", { n: Number(find("n").value) });
  location.assign("/");
});

try {
  const data = await again(() => get("/api/data"));
  show(data);
  filled();
  if (isOwner && data.work?.running) {
    const done = await watch();
    endProgress(done.work?.error || t("data.added", { n: done.n_items }));
  }
} catch (error) {
  tell(error);
}
filled();
