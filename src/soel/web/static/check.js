// What alarms promise, what a spot check proves or would prove, and what is not sure: words, and buttons that ask for more items.

import { post } from "./api.js";
import { find, make } from "./dom.js";

const LISTS = { promise: "promise", check: "quality", "check-advice": "check_advice", unsure: "unsure" };

export function showCheck(results) {
  for (const [place, name] of Object.entries(LISTS)) {
    find(place).replaceChildren(...results[name].map((words) => make("li", {}, words)));
  }
}

// act: runs a task and tells what goes wrong.
export function offerChecks(act) {
  for (const button of document.querySelectorAll("button[data-purpose]")) {
    const { ask, purpose } = button.dataset;
    button.addEventListener("click", () => act(async () => (await post("/api/more", { n: Number(ask), purpose }), location.assign("/"))));
  }
}
