// When unusual places in pictures are shown: the owner's choice.

import { get, persist, post } from "./api.js";
import { find, retrying, status, tell } from "./dom.js";
import { t } from "./text.js";

export async function showMapsChoice() {
  const { has_maps: hasMaps, wait } = await get("/api/maps");
  find("maps").hidden = !hasMaps;
  find("maps-wait").checked = wait;
  find("maps-wait").onchange = async ({ target }) => {
    try {
      await persist(() => post("/api/maps", { wait: target.checked }), retrying);
      status(t("maps.saved"), "saved");
    } catch (error) {
      target.checked = !target.checked;
      tell(error);
    }
  };
}
