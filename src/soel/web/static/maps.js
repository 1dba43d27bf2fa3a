// When unusual places in pictures are shown: the owner's choice.

import { find, status, tell } from "./dom.js";
import { change, read } from "./sync.js";
import { t } from "./text.js";

export async function showMapsChoice() {
  const { has_maps: hasMaps, wait } = await read("maps", "/api/maps");
  find("maps").hidden = !hasMaps;
  find("maps-wait").checked = wait;
  find("maps-wait").onchange = async ({ target }) => {
    try {
      const reply = await change("maps", "/api/maps", { wait: target.checked });
      if (reply === null) return; // it was chosen otherwise meanwhile
      target.checked = reply.wait;
      status(t("maps.saved"), "saved");
    } catch (error) {
      target.checked = (await read("maps", "/api/maps")).wait;
      tell(error);
    }
  };
}
