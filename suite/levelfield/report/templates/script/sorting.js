// Every table with a head, but for the overview, sorts by any of its columns: up, down, and back to the order of the page.
const valueOf = (row, column, numeric) => {
  const cell = row.cells[column];
  if (!cell) return undefined;
  if (!numeric) return (cell.querySelector(".arm") || cell).textContent.trim();
  return cell.querySelector(".best") ? -Infinity : numberIn(cell.textContent);
};
const sorted = (rows, column, numeric, sign) => {
  const keyed = rows.map((row) => [valueOf(row, column, numeric), row]);
  keyed.sort(([one], [other]) => {
    if (one === undefined || other === undefined) return (one === undefined) - (other === undefined);
    return sign * (numeric ? (one === other ? 0 : one - other) : one.localeCompare(other, "en", { numeric: true }));
  });
  return keyed.map(([, row]) => row);
};
for (const table of all("table")) {
  const head = table.tHead, body = table.tBodies[0];
  if (table.classList.contains("overview") || !head || head.rows.length !== 1 || !body || body.rows.length < 2) continue;
  const original = [...body.rows], cells = [...head.rows[0].cells];
  cells.forEach((cell, column) => {
    const numeric = cell.classList.contains("num");
    const press = html("button", { type: "button", class: "sort" });
    press.append(...cell.childNodes);
    cell.append(press);
    press.addEventListener("click", () => {
      const order = { ascending: "descending", descending: "" }[cell.getAttribute("aria-sort")] ?? "ascending";
      for (const other of cells) other.removeAttribute("aria-sort");
      if (order) cell.setAttribute("aria-sort", order);
      body.append(...(order ? sorted(original, column, numeric, order === "ascending" ? 1 : -1) : original));
    });
  });
}
