// The record inside the page, unpacked when somebody asks for it; and a case's windows in it.
let unpacked;
const record = () => {
  unpacked ??= (async () => {
    const packed = atob(JSON.parse(by("record").textContent).data);
    const bytes = new Uint8Array(packed.length); // a loop: Uint8Array.from takes ten times as long
    for (let place = 0; place < packed.length; place += 1) bytes[place] = packed.charCodeAt(place);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const text = await new Response(stream).text();
    return { text, run: JSON.parse(text) };
  })();
  return unpacked;
};
const refusal = (error) => `This browser cannot unpack the record inside the page (${error.name}).`;
const median = (samples) => quantile(ascending(samples), 0.5);

/** A name as the page shows it. */
const printable = (text) => text.replaceAll(/(?![\t\n])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{DI}\ufffe\uffff]/gu, "\ufffd");

/** All windows of a block's arm in the order of time, each with whether the page's figures count it. */
const windowsOf = ({ run }, place, arm, warming, kept, notCalm) =>
  (run.blocks[place]?.generations ?? []).flatMap((generation) => {
    const launch = (generation.launches ?? []).find((each) => printable(each.arm) === arm);
    const before = (launch?.warmup ?? []).filter(({ samples_ns: samples }) => samples.length).map(({ samples_ns: samples }, index) =>
      ({ generation: generation.index, round: -1, warmup: index, samples, median: median(samples) }));
    const turns = (generation.rounds ?? []).flatMap((round) => round.turns
      .filter((turn) => printable(turn.arm) === arm)
      .map((turn, attempt) => ({ window: turn.window, place: `${generation.index}:${round.index}:${attempt}` }))
      .filter(({ window }) => window?.samples_ns.length && window.window_ns > 0)
      .map(({ window: { samples_ns: samples }, place }) => {
        // A window that holds a time of nothing counts nowhere.
        const middle = samples.every((taken) => taken > 0) ? median(samples) : 0;
        return { generation: generation.index, round: round.index, samples, median: middle, disturbed: Boolean(round.disturbed?.length), calm: !notCalm.has(place) };
      })).filter((window) => window.median > 0);
    turns.filter((window) => window.calm && (!window.disturbed || kept.has(generation.index))).forEach((window, index) => { window.counted = index >= (warming.get(generation.index) ?? 0); });
    return [...before, ...turns];
  });
