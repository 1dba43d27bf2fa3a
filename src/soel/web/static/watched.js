// The alarms of watched inputs that wait for an answer; the one that the address names is shown first.

import { filled, find, tell } from "./dom.js";
import { Inbox } from "./inbox.js";
import { t } from "./text.js";

const list = new Inbox((page) => show(page).then(() => list.focus()), () => {}, "/watched");

async function show(page) {
  try {
    const found = await list.load({ page });
    if (found !== null) find("total").textContent = t("watched.total", { n: found.total });
  } catch (error) {
    tell(error);
  }
}

const item = new URLSearchParams(location.search).get("item");
show(1).then(() => item !== null && list.showAt(list.home, item)).catch(tell).finally(filled);
