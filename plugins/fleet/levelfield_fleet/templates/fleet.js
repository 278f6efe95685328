"use strict";
// What is known of a cell of the heat map, for the one under the pointer or with the focus. Texts stay texts.
(() => {
  const HINT = "Point at a cell, or go there with the arrow keys, to see its interval.";
  const percent = (ratio) => (100 * Math.abs(ratio - 1)).toFixed(1) + " %";
  const side = (ratio) => (ratio < 1 ? "below" : "above");
  const deviation = (ratio, low, high) => {
    if (ratio === undefined || ratio === null) return "";
    const bounds = low == null || high == null ? ""
      : ` (from ${percent(low)} ${side(low)} to ${percent(high)} ${side(high)})`;
    return `${percent(ratio)} ${side(ratio)} its peers${bounds}`;
  };
  for (const map of document.querySelectorAll(".map")) {
    const table = map.querySelector(".heat"), told = map.querySelector(".told");
    const { words, cells } = JSON.parse(map.querySelector("script").textContent);
    const rows = table.tBodies[0].rows, heads = table.tHead.rows[0].cells;
    if (!rows.length || rows[0].cells.length < 2) continue;
    const tell = (cell) => {
      const row = cell.parentElement;
      const [verdict, reason, runs, scatter, ratio, low, high] = cells[row.sectionRowIndex][cell.cellIndex - 1];
      const parts = verdict === undefined ? ["no result"] : [
        words[verdict], deviation(ratio, low, high), `${runs} ${runs === 1 ? "run" : "runs"}`,
        scatter == null ? "" : `its launches scatter by ${(100 * scatter).toFixed(2)} %`, words[reason],
      ];
      const result = heads[cell.cellIndex].firstElementChild.title;
      told.textContent = `${row.cells[0].textContent}, ${result}: ${parts.filter(Boolean).join("; ")}.`;
    };
    let current = rows[0].cells[1];
    const go = (cell) => {
      current.tabIndex = -1;
      current = cell;
      current.tabIndex = 0;
    };
    const last = heads.length - 1;
    const moves = {
      ArrowRight: (row, column) => [row, column + 1], ArrowLeft: (row, column) => [row, column - 1],
      ArrowDown: (row, column) => [row + 1, column], ArrowUp: (row, column) => [row - 1, column],
      PageDown: (row, column) => [row + 20, column], PageUp: (row, column) => [row - 20, column],
      Home: (row) => [row, 1], End: (row) => [row, last],
    };
    table.addEventListener("keydown", (event) => {
      const move = moves[event.key];
      if (!move || event.target !== current) return;
      event.preventDefault();
      const [row, column] = move(current.parentElement.sectionRowIndex, current.cellIndex);
      const inside = (value, least, most) => Math.min(Math.max(value, least), most);
      go(rows[inside(row, 0, rows.length - 1)].cells[inside(column, 1, last)]);
      current.focus();
    });
    const cellOf = (event) => event.target.closest("td");
    table.addEventListener("focusin", (event) => { if (cellOf(event)) tell(cellOf(event)); });
    table.addEventListener("pointerover", (event) => { if (cellOf(event)) tell(cellOf(event)); });
    table.addEventListener("click", (event) => {
      const cell = cellOf(event);
      if (!cell) return;
      go(cell);
      cell.focus();
    });
    table.setAttribute("role", "grid");
    go(current);
    told.textContent = HINT;
    told.hidden = false;
  }
})();
