// What is inside the page, as files: the record as JSON; its windows and calls as CSV, with columns named as `levelfield export` names them.
const RUN = ["run", "started", "model", "scenario", "precision", "batch", "threads", "processes", "device", "arm"];
const CSV = {
  windows: [...RUN, "generation", "round", "turn", "disturbed", "calls", "median_ns"],
  calls: [...RUN, "generation", "round", "turn", "disturbed", "call", "call_ns"],
};
/** A text that a spreadsheet would take for a formula gets an apostrophe before it. */
const field = (value) => {
  if (typeof value !== "string") return String(value);
  const plain = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
};
const csvLine = (values) => `${values.map(field).join(",")}\n`;

function* rowsOf({ run }, table) {
  yield csvLine(CSV[table]);
  for (const block of run.blocks) {
    const { model, scenario, precision, batch, threads, device = "cpu", processes = 1 } = block.case;
    for (const generation of block.generations ?? []) for (const round of generation.rounds ?? []) {
      for (const [place, { arm, window }] of round.turns.entries()) {
        if (!window?.samples_ns.length) continue;
        const head = [run.id, run.started, model, scenario, precision, batch, threads, processes, device, arm, generation.index, round.index, place + 1];
        const disturbed = round.disturbed ? "True" : "False";
        if (table === "calls") {
          for (const [call, taken] of window.samples_ns.entries()) yield csvLine([...head, disturbed, call, taken]);
          continue;
        }
        yield csvLine([...head, disturbed, window.samples_ns.length + (window.calls_not_kept ?? 0), median(window.samples_ns)]);
      }
    }
  }
}
const save = (run, name, type, pieces) => {
  const address = URL.createObjectURL(new Blob(pieces, { type }));
  const link = html("a", { href: address, download: `${run.id.replace(/[^\w.-]+/g, "-").slice(0, 80)}-${name}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
};
const downloads = by("downloads");
if (downloads) {
  downloads.append("What is inside this file, as files of their own: ");
  const offer = (text, saved) => downloads.append(button(text, () => record().then(saved).catch((error) => downloads.append(refusal(error)))), " ");
  offer("Record (JSON)", ({ run, text }) => save(run, "record.json", "application/json", [text]));
  for (const table of Object.keys(CSV)) {
    offer(`${table === "calls" ? "Calls" : "Windows"} (CSV)`, (found) => save(found.run, `${table}.csv`, "text/csv", [...rowsOf(found, table)]));
  }
  downloads.hidden = false;
}
