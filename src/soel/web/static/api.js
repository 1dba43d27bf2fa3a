// Requests to this server: JSON in, JSON out, errors as sentences.

import { t } from "./text.js";

export class ApiError extends Error {
  // body: what else the server said
  constructor(status, message, body = {}) {
    super(message);
    Object.assign(this, body);
    this.status = status; // 0: the server was not reached
  }
}

// For whom, and for which session, this page was made: the server refuses what comes from another's page.
const meta = (name) => document.querySelector(`meta[name=${name}]`)?.content ?? "";
export const madeFor = { user: meta("soel-user"), session: meta("soel-session") };

export const newName = () => Array.from(crypto.getRandomValues(new Uint8Array(8)), (b) => b.toString(16).padStart(2, "0")).join("");

export const tab = (() => {
  // A name for this window that a reload keeps and a new window does not share.
  let name = sessionStorage.getItem("tab");
  if (name === null) sessionStorage.setItem("tab", (name = newName()));
  return name;
})();

export async function send(path, options = {}) {
  const made = { ...(madeFor.user && { "soel-user": encodeURIComponent(madeFor.user) }), ...(madeFor.session && { "soel-session": madeFor.session }) };
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options, headers: { ...made, ...options.headers } });
  } catch {
    throw new ApiError(0, t("server.away"));
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  throw new ApiError(response.status, body.error || t("server.answered", { status: String(response.status) }), body);
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
