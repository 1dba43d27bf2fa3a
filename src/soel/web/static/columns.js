// How columns are read: what the owner changes is sent, and the preparation begins.

import { post } from "./api.js";
import { find } from "./dom.js";

// Whose labels they are is asked once a column of labels is chosen.
function showLabelsBy() {
  const chosen = [...document.querySelectorAll("select[name=choice]")].some(({ value }) => value === "label");
  find("labels-by").hidden = find("labels-by-words").hidden = !chosen;
}

export function listen(onBegun) {
  find("columns-form")?.addEventListener("change", showLabelsBy);
  find("columns-form")?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const form = event.target;
    const button = form.querySelector("button[type=submit]");
    const problem = find("columns-error");
    button.disabled = true;
    problem.hidden = true;
    try {
      const now = await post("/api/preparation/columns", choicesOf(form));
      find("columns").hidden = true;
      sessionStorage.setItem("asked", "yes"); // so that the next page does not show it all again
      onBegun(now);
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    } finally {
      button.disabled = false;
    }
  });
}

function choicesOf(form) {
  const chosen = [...form.querySelectorAll("select[name=choice]")].filter((select) => select.value);
  return {
    choices: Object.fromEntries(chosen.map((select) => [select.dataset.column, select.value])),
    decimal: form.elements.decimal?.value || null,
    dates: form.elements.dates?.value || null,
    drop_duplicates: form.elements.drop_duplicates?.checked ?? false,
    labels_by: (!find("labels-by").hidden && form.elements.labels_by.value.trim()) || null,
  };
}
