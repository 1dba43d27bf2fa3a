// Requests to this server: JSON in, JSON out, errors as sentences.

import { t } from "./text.js";

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status; // 0: the server was not reached
  }
}

export const tab = (() => {
  // A name for this window that a reload keeps and a new window does not share.
  const fresh = () => Array.from(crypto.getRandomValues(new Uint8Array(8)), (b) => b.toString(16).padStart(2, "0")).join("");
  let name = sessionStorage.getItem("tab");
  if (name === null) sessionStorage.setItem("tab", (name = fresh()));
  return name;
})();

export async function send(path, options) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch {
    throw new ApiError(0, t("server.away"));
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  throw new ApiError(response.status, body.error || t("server.answered", { status: String(response.status) }));
}

export async function get(path, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  return (await send(query ? `${path}?${query}` : path)).json();
}

export async function bytes(path) {
  return (await send(path)).arrayBuffer();
}

export async function post(path, body = {}, method = "POST") {
  const headers = { "content-type": "application/json" };
  return (await send(path, { method, headers, body: JSON.stringify(body) })).json();
}

export const wait = (ms) => new Promise((done) => setTimeout(done, ms));

// Tries again while the server is away; every other error is the caller's.
export async function persist(task, onTrouble) {
  for (let pause = 500; ; pause = Math.min(pause * 1.5, 4000)) {
    try {
      return await task();
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 0) throw error;
      onTrouble(error);
      await wait(pause);
    }
  }
}
