// The page before there is a session: how far it is, and on to labelling when it is there.

import { listen } from "./columns.js";
import { get, post, wait } from "./api.js";
import { find, say } from "./dom.js";
import { showReading } from "./reading.js";
import { again as persist } from "./sync.js";
import { t } from "./text.js";
import { setButtons, showBar } from "./waiting.js";

const PAUSE = 500;
const SPEAK = 10000; // a reader of the screen hears of it this often
const KNOWN = ["create", "scan", "open", "extract", "write"];
let spoken = { title: "", at: 0 };

function withTime(count, seconds) {
  if (seconds === null) return count;
  if (seconds < 90) return t("preparing.seconds", { count, n: Math.max(1, seconds) });
  return seconds < 5400 ? t("preparing.minutes", { count, n: Math.round(seconds / 60) }) : t("preparing.hours", { count, n: Number((seconds / 3600).toFixed(1)) });
}

function show(now) {
  const asked = find("columns");
  const asking = now.stage === "asking";
  find("waiting").hidden = asking && asked !== null && !asked.hidden;
  if (asking) return showAsking(asked);
  const failed = now.stage === "failed";
  const title = t(failed ? "preparing.failed" : KNOWN.includes(now.what) ? `preparing.${now.what}` : "preparing.head");
  const count = !failed && now.total > 0 ? withTime(t("preparing.count", { done: now.done, total: now.total }), now.seconds_left) : "";
  find("waiting-title").textContent = title;
  find("waiting-words").textContent = failed ? now.error : t("preparing.words");
  find("waiting-count").textContent = count;
  showBar(failed ? null : now);
  setButtons(failed ? [[t("button.again"), again]] : []);
  speak(title, failed ? now.error : count);
}

// The owner has the form before them; everybody else is told what is waited for.
function showAsking(asked) {
  find("waiting-title").textContent = t("columns.head");
  find("waiting-words").textContent = asked === null ? t("columns.others") : "";
  find("waiting-count").textContent = "";
  showBar(null);
  setButtons([]);
}

function speak(title, more) {
  if (title === spoken.title && Date.now() - spoken.at < SPEAK) return;
  const text = more ? `${title}: ${more}` : title;
  if (find("live").textContent !== text) say(text);
  spoken = { title, at: Date.now() };
}

const trouble = () => (find("waiting-count").textContent = t("preparing.away"));

async function again() {
  try {
    const now = await post("/api/preparation");
    if (now.stage === "asking") return location.reload(); // the columns are asked about again
    show(now);
  } catch (error) {
    find("waiting-words").textContent = error.message;
  }
}

async function watch() {
  for (;;) {
    const now = await persist(() => get("/api/preparation"), trouble);
    if (now.stage === "ready") break;
    show(now);
    await wait(PAUSE);
  }
  say(t("preparing.ready"));
  location.reload(); // the same address now shows the session
}

listen(show);
showReading();
watch().catch(() => location.reload()); // signed out meanwhile: the server says what to do
