// All items, to search, filter, sort and answer; what is shown stands in the address, so that every view has a link.

import { filled, find, make, tell } from "./dom.js";
import { Inbox } from "./inbox.js";
import { t } from "./text.js";

const form = find("filter");
const list = new Inbox((page) => go({ ...chosen(), page }));

// What the form says, without what says nothing.
function chosen() {
  const given = Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));
  if (!given.column) for (const name of ["op", "value"]) delete given[name];
  if (given.sort === "score") delete given.sort;
  return given;
}

function fill(query) {
  for (const [name, value] of Object.entries(query)) {
    const field = form.elements[name];
    if (!field) continue;
    if (field.type === "checkbox") field.checked = value === "true";
    else field.value = value;
  }
}

function offer(select, names) {
  const held = new Set([...select.options].map((option) => option.value));
  select.append(...names.filter((name) => !held.has(name)).map((name) => make("option", { value: name }, name)));
}

async function show(query) {
  try {
    const found = await list.load(query);
    if (found === null) return;
    offer(find("person"), found.people);
    offer(find("column"), found.columns);
    find("column-filter").hidden = found.columns.length === 0;
    fill(query);
    find("total").textContent = t("items.total", { n: found.total });
    const { page, ...selection } = query;
    for (const link of document.querySelectorAll("[data-form]")) link.href = `/api/items.${link.dataset.form}?${new URLSearchParams(selection)}`;
  } catch (error) {
    tell(error);
  }
}

function go(query) {
  history.pushState(null, "", `/items?${new URLSearchParams(query)}`);
  show(query).then(() => list.focus());
}

const fromAddress = () => Object.fromEntries(new URLSearchParams(location.search));

form.addEventListener("submit", (event) => {
  event.preventDefault();
  go(chosen());
});
window.addEventListener("popstate", () => (form.reset(), show(fromAddress())));
show(fromAddress()).then(() => list.offerMaps()).catch(tell).finally(filled);
