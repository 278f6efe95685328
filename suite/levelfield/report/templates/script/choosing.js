// What is shown: a text, a model, a scenario, and arms. Everything else is taken out of sight, and nothing else changes.
const controls = by("controls");
const fields = { text: by("c-text"), model: by("c-model"), scenario: by("c-scenario"), scale: by("c-scale") };
const boxes = controls ? all("input[type=checkbox]", controls) : [];
const parts = all("[data-case]");
/** Functions to call after the choice has changed. */
const chosen = [];

const nameOf = (field, value) => [...field.options].find((option) => option.value === value)?.text ?? "";
const wordsOf = (part) => {
  const { case: id, model, scenario } = part.dataset;
  return `${id} ${nameOf(fields.model, model)} ${nameOf(fields.scenario, scenario)}`.toLowerCase();
};
const scale = () => fields.scale?.value ?? "";

const choose = () => {
  const words = fields.text.value.toLowerCase().split(/\s+/).filter(Boolean);
  const gone = new Set(boxes.filter((box) => !box.checked).map((box) => box.value));
  const shownCases = new Map();
  const bare = [];
  for (const row of all("[data-arm]")) row.classList.toggle("out", gone.has(row.dataset.arm));
  for (const part of parts) {
    const { case: id, model, scenario } = part.dataset;
    const text = wordsOf(part), rows = all("[data-arm]", part);
    let fits = (!fields.model.value || fields.model.value === model) && (!fields.scenario.value || fields.scenario.value === scenario);
    if (words.length && fits) {
      const found = (row) => words.every((word) => text.includes(word) || row.dataset.arm.toLowerCase().includes(word));
      for (const row of rows) if (!found(row)) row.classList.add("out");
      if (rows.length) fits = rows.some(found);
      else if (!words.every((word) => text.includes(word))) bare.push(part);
    }
    part.classList.toggle("out", !fits);
    if (rows.length) shownCases.set(id, shownCases.get(id) || fits);
  }
  for (const part of bare) part.classList.toggle("out", !shownCases.get(part.dataset.case));
  for (const section of all("section.cases")) {
    const held = all("[data-case]", section);
    section.classList.toggle("out", held.length > 0 && held.every((part) => part.classList.contains("out")));
    all(`.contents a[href="#${section.id}"]`).forEach((link) => link.parentElement.classList.toggle("out", section.classList.contains("out")));
  }
  for (const chart of charts) drawScale(chart, scale());
  say(words, gone, shownCases);
  for (const call of chosen) call();
};
const say = (words, gone, cases) => {
  const shown = [...cases.values()].filter(Boolean).length;
  const parts = [];
  if (shown < cases.size) parts.push(`${shown} of ${cases.size} cases`);
  if (gone.size) parts.push(`without ${[...gone].join(", ")}`);
  if (words.length && shown) parts.push(`only what has “${words.join(" ")}”`);
  const text = parts.join(", ");
  by("c-shown").textContent = text ? `Shown: ${text}. Ranks and verdicts stay those of the whole run.` : "";
  by("c-reset").hidden = !text;
};
const showAll = () => {
  for (const box of boxes) box.checked = true;
  for (const field of [fields.text, fields.model, fields.scenario]) field.value = "";
  choose();
};

if (controls) {
  for (const field of [...Object.values(fields), ...boxes]) heard(field, choose);
  by("c-reset").addEventListener("click", () => { showAll(); fields.text.focus(); });
  const arrive = () => {
    const target = by(location.hash.slice(1)), fold = target?.querySelector(":scope > .fold");
    if (fold) fold.open = true;
    if (target?.closest(".out")) { showAll(); target.scrollIntoView(); }
  };
  addEventListener("hashchange", arrive);
  arrive();
  controls.hidden = false;
}
