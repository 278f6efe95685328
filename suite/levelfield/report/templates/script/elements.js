// Elements, made one by one and filled with text: nothing is ever parsed as markup.
const SVG = "http://www.w3.org/2000/svg";
const filled = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};
const html = (name, attributes = {}, ...children) => filled(document.createElement(name), attributes, children);
const svg = (name, attributes = {}, ...children) => filled(document.createElementNS(SVG, name), attributes, children);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const by = (id) => document.getElementById(id);
const heard = (field, changed) => { for (const name of ["input", "change"]) field.addEventListener(name, changed); };
const button = (text, changed) => {
  const made = html("button", { type: "button" }, text);
  made.addEventListener("click", changed);
  return made;
};
// Every command can be copied; a page that was opened over plain HTTP has no clipboard but that of a selection.
for (const code of all("code").filter((each) => each.textContent.startsWith("levelfield "))) {
  const copy = button("Copy", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      getSelection().selectAllChildren(code);
      document.execCommand("copy");
    }
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  });
  copy.className = "copy";
  copy.setAttribute("aria-label", `Copy: ${code.textContent.slice(0, 60)}`);
  code.after(copy);
}
