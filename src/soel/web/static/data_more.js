// The data page's quieter parts: how columns were read, labels of another session, items that leave.

import { post } from "./api.js";
import { find, tell } from "./dom.js";
import { showReading } from "./reading.js";
import { newUpload, sendFile } from "./upload.js";
import { t } from "./text.js";

// Sends a form; says below it what came of it. onDone: called with it, too
function act(form, place, task, onDone) {
  find(form)?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = find(form).querySelector("button");
    button.disabled = true;
    try {
      find(place).textContent = await task();
      find(form).reset();
      await onDone();
    } catch (error) {
      find(place).textContent = error.message;
      if (error.status === 401) tell(error);
    } finally {
      button.disabled = false;
    }
  });
}

async function take() {
  const upload = newUpload();
  await sendFile(upload, find("take-file").files[0]);
  const { n_stored: n, n_known: known, n_left_out: left } = await post("/api/labels", { upload });
  return [t("data.taken", { n }), known ? t("data.taken_known", { n: known }) : "", left ? t("data.taken_left", { n: left }) : ""].filter(Boolean).join(" ");
}

async function remove() {
  const items = [...new Set(find("remove-ids").value.split("\n").map((id) => id.trim()).filter(Boolean))];
  const data = await post("/api/removals", { items });
  return t("data.removed_now", { n: items.length, left: data.n_items });
}

export function listenToForms(onDone) {
  act("take", "taken", take, onDone);
  act("remove", "removed", remove, onDone);
  showReading();
}
