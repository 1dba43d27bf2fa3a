// Why: which values raise an item's score. It comes after the item, and may be missing.

import { get } from "./api.js";
import { fieldList } from "./card.js";
import { find, itemLink, make } from "./dom.js";
import { t } from "./text.js";

// The labelled item that this one is most like, if there is one.
export function likeLine(resembles) {
  if (!resembles) return [];
  const words = t("reason.like", { verdict: t(`said.${resembles.verdict}`) });
  return [make("p", { class: "small" }, words, " ", itemLink({ ...resembles, kind: "table" }))];
}

// isCurrent(): whether the item is still the one on the page.
export async function showReasons(id, isCurrent) {
  const panel = find("reasons-panel");
  panel.hidden = true;
  try {
    const { fields, resembles } = await get("/api/reasons", { id });
    if (!isCurrent() || !fields.length) return;
    find("reasons").replaceChildren(fieldList(fields), ...likeLine(resembles));
    panel.hidden = false;
  } catch {
    // an item can be labelled without it
  }
}
