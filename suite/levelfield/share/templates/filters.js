"use strict";
(() => {
  const by = (id) => document.getElementById(id);
  const entries = [...by("entries").children];
  const fields = { machine: by("f-machine"), backends: by("f-backend"), models: by("f-model"), launcher: by("f-launcher") };
  const text = by("f-text");
  const filter = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const entry of entries) {
      const fits = Object.entries(fields).every(([name, field]) => !field.value || entry.dataset[name].split("|").includes(field.value))
        && words.every((word) => entry.textContent.toLowerCase().includes(word));
      entry.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    by("shown").textContent = shown === entries.length ? "" : `${shown} of ${entries.length} runs`;
  };
  by("filters").hidden = false;
  by("filters").addEventListener("submit", (event) => event.preventDefault());
  const heard = (field, changed) => { for (const name of ["input", "change"]) field.addEventListener(name, changed); };
  for (const field of [...Object.values(fields), text]) heard(field, filter);
  filter();

  const two = by("two");
  if (!two) return;
  const links = [...by("pairs").querySelectorAll("a")];
  const page = new Map(links.map((link) => [`${link.dataset.old}\n${link.dataset.new}`, link.getAttribute("href")]));
  const [older, newer, go] = [by("c-old"), by("c-new"), by("c-go")];
  for (const [field, name] of [[older, "old"], [newer, "new"]]) {
    for (const id of [...new Set(links.map((link) => link.dataset[name]))].sort().reverse()) field.append(new Option(id, id));
  }
  const chosen = () => page.get(`${older.value}\n${newer.value}`) || page.get(`${newer.value}\n${older.value}`);
  const look = () => { go.disabled = !chosen(); };
  for (const field of [older, newer]) heard(field, look);
  go.addEventListener("click", () => { const target = chosen(); if (target) location.href = target; });
  two.hidden = false;
  look();
})();
