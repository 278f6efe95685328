"use strict";
(() => {
  const by = (id) => document.getElementById(id);
  const data = JSON.parse(by("estimates").textContent);
  const runs = new Map(data.runs.map((run) => [run.id, run]));
  const [older, newer, text] = [by("c-old"), by("c-new"), by("c-text")];
  const made = (name, content, kind) => {
    const element = document.createElement(name);
    element.textContent = content;
    if (kind) element.className = kind;
    return element;
  };
  const scales = {
    ns: [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]],
    bytes: [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]],
    other: [[1e9, "G"], [1e6, "M"], [1e4, "k", 1e3], [1, ""]],
  };
  const written = ([unit, value, low, high]) => {
    const name = data.units[unit], scale = scales[name] ?? scales.other;
    const [from, sign, factor = from] = scale.find(([least]) => value >= least) ?? scale[scale.length - 1];
    const digits = (number) => Number((number / factor).toPrecision(3)).toString();
    const end = [sign, scales[name] ? "" : name].filter(Boolean).join(" ");
    return `${digits(value)} ${end}${low === null || high === null ? "" : ` (${digits(low)}–${digits(high)})`}`;
  };
  const cost = ([unit, value]) => (data.units[unit] === "ns" || data.units[unit] === "bytes" ? value : 1 / value);
  const describe = (run) => `${run.id}: ${run.started.replace("T", " ")} UTC, ${run.machine}, ${run.launcher}${run.labels.length ? `, labelled ${run.labels.join(", ")}` : ""}`;

  const draw = () => {
    const [old, fresh] = [runs.get(older.value), runs.get(newer.value)];
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = Object.entries(old.results)
      .filter(([name, one]) => fresh.results[name] && fresh.results[name][0] === one[0] && words.every((word) => name.toLowerCase().includes(word)))
      .map(([name, one]) => ({ name, one, other: fresh.results[name], ratio: cost(fresh.results[name]) / cost(one) }))
      .sort((first, second) => second.ratio - first.ratio);
    by("rows").replaceChildren(...rows.map(({ name, one, other, ratio }) => {
      const head = made("th", name);
      head.scope = "row";
      const row = document.createElement("tr");
      row.append(head, made("td", ratio.toPrecision(4), "num"), made("td", written(one), "num"), made("td", written(other), "num"));
      return row;
    }));
    const other = old.machine === fresh.machine && old.launcher === fresh.launcher ? "" : " The machines or launchers differ, so a ratio is of both together.";
    by("about").textContent = `${rows.length} ${rows.length === 1 ? "result" : "results"} in both. Old: ${describe(old)}. New: ${describe(fresh)}.${other}`;
    const page = data.pages[`${old.id}--${fresh.id}`];
    by("full").hidden = !page;
    if (page) by("full").firstElementChild.setAttribute("href", `../${page}`);
  };

  for (const field of [older, newer]) {
    for (const run of data.runs) field.append(new Option(`${run.id}${run.labels.length ? ` (${run.labels.join(", ")})` : ""}`, run.id));
  }
  if (data.runs.length > 1) older.value = data.runs[1].id;
  for (const field of [older, newer, text]) for (const name of ["input", "change"]) field.addEventListener(name, draw);
  by("two").addEventListener("submit", (event) => event.preventDefault());
  by("two").hidden = false;
  if (data.runs.length) draw();
})();
