// Under each case: its samples, drawn when somebody looks.
const VIEWS = { "Over time": overTime, "Every call": everyCall, Quantiles: quantiles };
let groups = 0;
const radios = (label, names, changed) => {
  groups += 1;
  const made = names.map((name, index) => {
    const input = html("input", { type: "radio", name: `choice-${groups}`, value: name, autocomplete: "off", ...(index ? {} : { checked: "" }) });
    input.addEventListener("change", changed);
    return [input, html("label", {}, input, html("span", {}, name))];
  });
  return { field: html("fieldset", { class: "switch" }, html("legend", {}, label), ...made.map(([, shown]) => shown)),
    value: () => made.find(([input]) => input.checked)[0].value };
};
const armsOf = (article, found) => all("tr[data-arm]", article.querySelector(".scroll"))
  .filter((row) => !row.classList.contains("out"))
  .map((row) => {
    const { arm, warming = "", notCalm = "" } = row.dataset, { place } = article.dataset;
    const kept = new Set((article.dataset.kept ?? "").split(" ").filter(Boolean).map(Number));
    const early = new Map(warming.trim().split(" ").filter(Boolean).map((each) => each.split(":").map(Number)));
    return { name: arm, colour: [...row.querySelector("th").classList].find((name) => name.startsWith("b-")) ?? "",
      windows: windowsOf(found, Number(place), arm, early, kept, new Set(notCalm.split(" "))) };
  });

for (const article of all("article.block")) {
  const details = html("details", { class: "closer" });
  const place = html("div", { class: "drawn" }), note = html("p", { class: "note" });
  const draw = async () => {
    if (!details.open) return;
    try {
      const arms = armsOf(article, await record());
      const view = VIEWS[kind.value()];
      share.field.hidden = view !== quantiles;
      if (!arms.some(({ windows }) => windows.some((window) => window.counted))) {
        place.replaceChildren();
        note.textContent = "There is nothing to draw: no window of an arm that is shown counts.";
        return;
      }
      const { drawn, note: said } = view(arms, Number(share.value().slice(1)) / 100);
      place.replaceChildren(drawn);
      note.textContent = said;
    } catch (error) {
      place.replaceChildren();
      note.textContent = refusal(error);
    }
  };
  const kind = radios("Draw", Object.keys(VIEWS), draw);
  const share = radios("Quantile", SHARES.map(nameOfShare), draw);
  details.append(html("summary", {}, "Look closer: over time, every call, quantiles"), html("div", { class: "switches" }, kind.field, share.field), place, note);
  details.addEventListener("toggle", draw);
  chosen.push(draw);
  article.querySelector(".scroll").after(details);
}
