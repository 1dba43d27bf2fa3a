// The page before there is a session: how far it is, and on to labelling when it is there.

import { get, persist, post, wait } from "./api.js";
import { find, say } from "./dom.js";
import { setButtons, showBar } from "./waiting.js";

const PAUSE = 500;
const SPEAK = 10000; // a reader of the screen hears of it this often
const TITLES = {
  create: "Reading the data",
  scan: "Looking through the files",
  open: "Getting the network ready",
  extract: "Computing what the pictures look like",
  write: "Writing the session",
};
const WORDS = "This happens once. Labelling begins by itself; what is computed is kept, even if the server stops.";
const FAILED = "The session could not be prepared";
let spoken = { title: "", at: 0 };

const number = (n) => n.toLocaleString("en");

function timeLeft(seconds) {
  if (seconds === null) return "";
  if (seconds < 90) return `, about ${Math.max(1, seconds)} s left`;
  return seconds < 5400 ? `, about ${Math.round(seconds / 60)} min left` : `, about ${(seconds / 3600).toFixed(1)} h left`;
}

function show(now) {
  const failed = now.stage === "failed";
  const title = failed ? FAILED : TITLES[now.what] || "Preparing the session";
  const count = !failed && now.total > 0 ? `${number(now.done)} of ${number(now.total)}${timeLeft(now.seconds_left)}` : "";
  find("waiting-title").textContent = title;
  find("waiting-words").textContent = failed ? now.error : WORDS;
  find("waiting-count").textContent = count;
  showBar(failed ? null : now);
  setButtons(failed ? [["Try again", again]] : []);
  speak(title, failed ? now.error : count);
}

function speak(title, more) {
  if (title === spoken.title && Date.now() - spoken.at < SPEAK) return;
  const text = more ? `${title}: ${more}` : title;
  if (find("live").textContent !== text) say(text);
  spoken = { title, at: Date.now() };
}

const trouble = () => (find("waiting-count").textContent = "The server cannot be reached; trying again.");

async function again() {
  try {
    show(await post("/api/preparation"));
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
  say("The session is ready.");
  location.reload(); // the same address now shows the session
}

watch().catch(() => location.reload()); // signed out meanwhile: the server says what to do
