// What the page changes and reads: nothing is lost on the way, and nothing older replaces what is newer.
//
// A change waits for the earlier ones of its item, and is sent again until the server has answered; it is kept in this
// window's storage meanwhile, so that a reload does not lose it. Each is safe to send twice: an answer has a key, an undo
// names its event, all others say how it is to be. A reply counts only where no newer change of its kind waits. Replies
// carry the number of the newest event that they know of: a read that knows less than what was stored is repeated.

import { ApiError, get, madeFor, newName, post, wait } from "./api.js";
import { answered, retrying, tell } from "./dom.js";

const KEPT = "outbox";
const AGAIN = [0, 408, 429, 502, 503, 504]; // the server is away, or starting, or busy
const MOST_READS = 5;
const queues = new Map(); // changes that wait, by item
const newest = new Map(); // the newest read, by place
let stored = 0; // the number of the newest event that a change has led to

const isOurs = ({ user, session }) => user === madeFor.user && session === madeFor.session;
const kept = () => JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
function keep(entries) {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(entries));
  } catch {
    // the browser has no room: the change is sent all the same
  }
}
const forget = (entry) => keep(kept().filter(({ id }) => id !== entry.id));

// Sends a change of an item, or of another thing with a name. Gives the reply; null where a newer change of the same kind
// was made meanwhile. An error is what the server refused: nothing was stored.
export function change(item, path, body, method = "POST") {
  const marked = path === "/api/answers" ? { ...body, key: newName() } : body;
  const entry = { id: newName(), item, path, body: marked, method, ...madeFor };
  keep([...kept(), entry]);
  return enqueue(entry);
}

function enqueue(entry) {
  return new Promise((resolve, reject) => {
    const queue = queues.get(entry.item) ?? [];
    queue.push({ ...entry, resolve, reject });
    queues.set(entry.item, queue);
    if (queue.length === 1) work(entry.item, queue);
  });
}

async function work(item, queue) {
  while (queue.length > 0) {
    const [entry] = queue;
    try {
      const reply = await deliver(entry);
      forget(entry);
      stored = Math.max(stored, reply.version ?? 0);
      remember(entry, reply);
      const isNewest = !queue.slice(1).some(({ path }) => path === entry.path);
      entry.resolve(isNewest ? reply : null);
    } catch (error) {
      if (error.status !== 401 && error.code !== "page") forget(entry); // another user's page: it waits for that user
      entry.reject(error);
    }
    queue.shift();
  }
  queues.delete(item);
}

const deliver = ({ path, body, method }) => insist(() => post(path, body, method), AGAIN);

// Tries until the server has answered, or has refused with a status that another try would not change.
async function insist(task, statuses) {
  try {
    for (let pause = 500; ; pause = Math.min(pause * 1.5, 4000)) {
      try {
        return await task();
      } catch (error) {
        if (!(error instanceof ApiError) || !statuses.includes(error.status)) throw error;
        retrying(task, error);
        await wait(pause);
      }
    }
  } finally {
    answered(task);
  }
}

// What an earlier page of this window could not send.
const restored = Promise.allSettled(kept().filter(isOurs).map((entry) => enqueue(entry).catch(tell)));

// Reads for a place of the page. Gives null where a newer read for it was begun meanwhile.
export async function read(place, path, parameters = {}) {
  const request = async () => (newest.get(place) === request ? get(path, parameters) : null);
  answered(newest.get(place)); // nobody waits for it any more
  newest.set(place, request);
  for (let n = 1; ; n += 1) {
    const reply = await again(request);
    if (newest.get(place) !== request) return null;
    if (!(reply.version < stored) || n === MOST_READS) return reply;
  }
}

// Whether what the server knew at this event holds all that this window has stored.
export async function isNewest(version) {
  await restored;
  return version >= stored;
}

// Tries again while the server is away; only for what may come twice.
export async function again(task) {
  await restored;
  return insist(task, [0]);
}

// The answers that were given in this window, by the numbers of their events: others are not taken back here.
const given = () => JSON.parse(sessionStorage.getItem("given") ?? "[]");
export const isGivenHere = (event) => given().includes(event);

function remember({ path }, reply) {
  if (path === "/api/answers" && reply.about.event) {
    sessionStorage.setItem("given", JSON.stringify([...given(), reply.about.event].slice(-100)));
  }
}

// What somebody has typed and the server does not have yet; it outlives the window.
const draftName = (name) => `draft ${madeFor.session} ${encodeURIComponent(madeFor.user)} ${name}`;
export const drafts = {
  get: (name) => localStorage.getItem(draftName(name)),
  set: (name, text) => localStorage.setItem(draftName(name), text),
  names: () => Object.keys(localStorage).filter((name) => name.startsWith(draftName(""))).map((name) => name.slice(draftName("").length)),
  // Forgets a text that is stored, unless it was changed since.
  drop(name, text) {
    if (this.get(name) === text) localStorage.removeItem(draftName(name));
  },
};

addEventListener("beforeunload", (event) => {
  if (queues.size > 0 && document.getElementById("saved")?.dataset.state === "trouble") event.preventDefault();
});
