// A switch over a list of pictures: with or without their unusual places.

import { get } from "./api.js";
import { make } from "./dom.js";
import { again } from "./sync.js";
import { t } from "./text.js";

// place: where the switch goes. list: an ItemList. reload(): shows its page anew
export async function offerMaps(place, list, reload) {
  const { has_maps: hasMaps } = await again(() => get("/api/maps"));
  if (!hasMaps || place.hasChildNodes()) return;
  const button = make("button", { type: "button", "aria-pressed": "false", "aria-label": t("zoom.map_gallery") }, t("zoom.map"));
  const words = make("p", { class: "muted small", role: "status" });
  button.addEventListener("click", () => {
    list.mapped = !list.mapped;
    words.textContent = list.mapped ? t("zoom.map_key") : "";
    button.setAttribute("aria-pressed", String(list.mapped));
    reload();
  });
  place.append(button);
  place.parentElement.after(words);
}
