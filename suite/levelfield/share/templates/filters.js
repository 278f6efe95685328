"use strict";
(() => {
  const by = (id) => document.getElementById(id);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const fields = { machine: by("f-machine"), backends: by("f-backend"), models: by("f-model"), launcher: by("f-launcher") };
  const parts = all("[data-machine], [data-backends], [data-models], [data-launcher]");
  const [entries, sections, text, two] = [[...by("entries").children], all("main > section + section"), by("f-text"), by("two")];
  const fits = (part, name, value) => !value || !(name in part.dataset) || part.dataset[name].split("|").includes(value);

  const filter = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const part of parts) {
      part.hidden = !Object.entries(fields).every(([name, field]) => fits(part, name, field.value))
        || (part.matches(".entry") && !words.every((word) => part.textContent.toLowerCase().includes(word)));
    }
    const visible = (part) => !part.hidden;
    for (const section of sections) section.hidden = !all(".entry, #pairs > li", section).some(visible);
    const shown = entries.filter(visible).length;
    by("shown").textContent = shown === entries.length ? "" : `${shown} of ${entries.length} runs`;
    if (two && !two.closest("section").hidden) offer();
  };

  const links = two ? all("#pairs a") : [];
  const [older, newer, go] = [by("c-old"), by("c-new"), by("c-go")];
  const put = (field, ids) => {
    const before = field.value;
    field.replaceChildren(...[...new Set(ids)].map((id) => new Option(id, id)));
    if (ids.includes(before)) field.value = before;
  };
  const offered = () => links.filter((link) => !link.parentElement.hidden);
  const offer = () => {
    put(older, offered().map((link) => link.dataset.old));
    put(newer, offered().filter((link) => link.dataset.old === older.value).map((link) => link.dataset.new));
  };

  const heard = (field, changed) => { for (const name of ["input", "change"]) field.addEventListener(name, changed); };
  for (const field of [...Object.values(fields), text]) heard(field, filter);
  by("filters").hidden = false;
  by("filters").addEventListener("submit", (event) => event.preventDefault());
  if (two) {
    heard(older, offer);
    go.addEventListener("click", () => {
      location.href = links.find((link) => link.dataset.old === older.value && link.dataset.new === newer.value).getAttribute("href");
    });
    two.hidden = false;
  }
  filter();
})();
