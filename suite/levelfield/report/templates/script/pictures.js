// Pictures of a case's samples, one strip an arm: how windows went over time, every call, and quantiles of the calls.
const SHARES = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999];
const nameOfShare = (share) => `p${Number((100 * share).toPrecision(4))}`;
// Of fewer calls, not even the slowest bounds a quantile from above with 95 % confidence (suite/levelfield/statistics/windows.py).
const leastCalls = (share) => share > 0.5 ? Math.ceil(Math.log(0.05) / Math.log(share)) : 1;
const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5];

const strip = (arm, height, drawn, value) => html("div", { class: `plot-row strip ${arm.colour}`, "aria-hidden": "true" },
  html("span", { class: "plot-name" }, html("i", { class: "key" }), arm.name),
  drawn instanceof Node ? drawn : svg("svg", { class: "track", height, width: "100%" }, ...drawn),
  html("span", { class: "plot-value" }, ...value));
const axisRow = (labels) => html("div", { class: "plot-row plot-axis", "aria-hidden": "true" },
  html("span", { class: "plot-name" }), svg("svg", { class: "track", height: "20", width: "100%" }, ...labels), html("span", { class: "plot-value" }));
const picture = (label, rows) => html("div", { class: "plot", role: "img", "aria-label": label }, ...rows);
const line = (name, x1, x2, y1, y2 = y1) => svg("line", { class: name, x1: `${x1}%`, x2: `${x2}%`, y1: `${y1}%`, y2: `${y2}%` });
const dot = (name, x, y, r, title) => svg("circle", { class: name, cx: `${x}%`, cy: `${y}%`, r }, ...(title ? [svg("title", {}, title)] : []));
const arrow = (name, x, up, title) => svg("svg", { x: `${x}%`, y: up ? "0%" : "100%", width: "1", height: "1", overflow: "visible" },
  svg("path", { class: name, d: up ? "M0 -1 4.5 7h-9z" : "M0 1 4.5 -7h-9z" }, svg("title", {}, title)));
const kindOf = (window) => (window.counted ? "point" : window.disturbed ? "point disturbed" : "point early");
const placeOf = ({ generation, round, warmup }) => `launch ${generation + 1}, ${round < 0 ? `warming up ${warmup + 1}` : `round ${round + 1}`}`;

/** The same place on the width for all arms' windows of one round: launch by launch, each with its warming up first. */
const slotsOf = (arms) => {
  const keys = new Map();
  for (const { windows } of arms) for (const each of windows) keys.set(`${each.generation} ${each.round} ${each.warmup ?? 0}`, each);
  const order = [...keys.values()].sort((one, other) => one.generation - other.generation
    || (one.round - other.round) || (one.warmup ?? 0) - (other.warmup ?? 0));
  const places = new Map(order.map((each, index) => [`${each.generation} ${each.round} ${each.warmup ?? 0}`, (100 * (index + 0.5)) / order.length]));
  const launches = [...new Set(order.map((each) => each.generation))].map((generation) => {
    const indices = order.flatMap((each, index) => (each.generation === generation ? [index] : []));
    return { generation, start: (100 * indices[0]) / order.length, end: (100 * (indices.at(-1) + 1)) / order.length };
  });
  return { at: (each) => places.get(`${each.generation} ${each.round} ${each.warmup ?? 0}`), launches };
};

const overTime = (arms) => {
  const measured = arms.map((arm) => {
    const counted = arm.windows.filter((window) => window.counted);
    const level = counted.length ? Math.exp(median(counted.map((window) => Math.log(window.median)))) : NaN;
    const shares = counted.map((window) => window.median / level - 1);
    return { ...arm, level, shares, least: Math.min(...shares), most: Math.max(...shares) };
  }).filter((arm) => arm.level > 0);
  const { at, launches } = slotsOf(measured);
  // One window five times as long as the others must not press all strips flat: it is drawn at the edge.
  const away = ascending(measured.flatMap(({ shares }) => shares.map(Math.abs)));
  const reach = 1.1 * Math.max(0.02, Math.min(away.at(-1) ?? 0, Math.max(0.1, 2.5 * quantile(away, 0.9))));
  const step = STEPS.findLast((each) => each <= reach * 0.8) ?? 0.01;
  const y = (share) => 50 - 46 * Math.min(Math.max(share / reach, -1), 1);
  const rows = measured.map((arm) => {
    const marks = launches.slice(1).map(({ start }) => line("grid", start, start, 0, 100));
    marks.push(...[step, 0, -step].map((share) => line(share ? "grid" : "grid middle", 0, 100, y(share))));
    for (const { generation, start, end } of launches) {
      const own = arm.windows.filter((window) => window.generation === generation);
      const counted = own.filter((window) => window.counted);
      if (!counted.length) continue;
      marks.push(line("level", start + 0.6, end - 0.6, y(median(counted.map((window) => window.median)) / arm.level - 1)));
      counted.slice(1).forEach((window, index) => marks.push(
        line("path", at(counted[index]), at(window), y(counted[index].median / arm.level - 1), y(window.median / arm.level - 1))));
    }
    for (const window of arm.windows) {
      const share = window.median / arm.level - 1, title = `${placeOf(window)}: ${time(window.median)} (${percent(share)})`;
      marks.push(Math.abs(share) > reach ? arrow(kindOf(window), at(window), share > 0, title)
        : dot(kindOf(window), at(window), y(share), window.counted ? 3.5 : 3, title));
    }
    return strip(arm, 64, marks, [time(arm.level), html("small", {}, arm.least < arm.most ? `${percent(arm.least)} to ${percent(arm.most)}` : "")]);
  });
  const labels = launches.map(({ generation, start, end }) => svg("text", { x: `${(start + end) / 2}%`, y: "14", "text-anchor": "middle" }, String(generation + 1)));
  return {
    drawn: picture(`Window medians over time: ${measured.map((arm) => `${arm.name} between ${percent(arm.least)} and ${percent(arm.most)} of its own typical window`).join("; ")}`,
      [...rows, axisRow(labels), html("p", { class: "plot-label", "aria-hidden": "true" }, `launches, in the order of time · upwards slower, lines at ${percent(step)} and ${percent(-step)} · an arrow: further away`)]),
    note: `Each point is the median call of a window, against the arm’s own typical window; outer lines are ${percent(step)} and ${percent(-step)}, and the broad line is the launch’s median. Small hollow points are not counted: warming up, a machine that was not calm, or a disturbed round. An arrow at the edge stands for what lies beyond.`,
  };
};

const everyCall = (arms) => {
  const rows = arms.filter(({ windows }) => windows.some((window) => window.round >= 0)).map((arm) => {
    const windows = arm.windows.filter((window) => window.round >= 0);
    const samples = windows.flatMap((window) => window.samples.filter((each) => each > 0));
    const low = samples.reduce((one, other) => Math.min(one, other)), high = samples.reduce((one, other) => Math.max(one, other));
    const reach = Math.log(high / low) || 1;
    const y = (value) => 94 - (88 * Math.log(value / low)) / reach;
    const paths = { counted: new Set(), other: new Set() }, borders = []; // calls that fall on one pixel are one mark
    const digits = samples.length > 2000 ? 0 : 1;
    let place = 0, last = windows[0].generation;
    for (const window of windows) {
      if (window.generation !== last) { borders.push((100 * place) / samples.length); last = window.generation; }
      for (const value of window.samples) {
        if (!(value > 0)) continue;
        paths[window.counted ? "counted" : "other"].add(`M${((1000 * (place + 0.5)) / samples.length).toFixed(digits)} ${y(value).toFixed(digits)}h0`);
        place += 1;
      }
    }
    const middle = y(median(samples)), thin = samples.length > 600 ? " many" : "";
    const drawn = svg("svg", { class: "track", height: "84", width: "100%" },
      ...borders.map((at) => line("grid", at, at, 0, 100)), line("grid middle", 0, 100, middle),
      svg("svg", { viewBox: "0 0 1000 100", preserveAspectRatio: "none", width: "100%", height: "100%" },
        svg("path", { class: `calls other${thin}`, d: [...paths.other].join("") }), svg("path", { class: `calls${thin}`, d: [...paths.counted].join("") })));
    return { row: strip(arm, 84, drawn, [html("small", {}, `most ${time(high)}`), time(median(samples)), html("small", {}, `least ${time(low)}`)]),
      words: `${arm.name} between ${time(low)} and ${time(high)}` };
  });
  return {
    drawn: picture(`Every call: ${rows.map(({ words }) => words).join("; ")}`,
      [...rows.map(({ row }) => row), html("p", { class: "plot-label", "aria-hidden": "true" }, "calls, in the order of time · each strip from its least to its most, logarithmic")]),
    note: "Each point is one timed call, window after window; upright lines part the launches, the level one is the median. Paler points are in windows that are not counted.",
  };
};

const callsOf = (windows) => windows.reduce((sum, { samples }) => sum + samples.length, 0);

const quantiles = (arms, share) => {
  const measured = arms.map((arm) => {
    const counted = arm.windows.filter((window) => window.counted);
    const calls = callsOf(counted);
    const whole = ascending(counted.flatMap((window) => window.samples));
    const at = (each) => {
      if (!whole.length || calls < leastCalls(each)) return undefined;
      return quantile(whole, each);
    };
    const launches = [...new Set(counted.map((window) => window.generation))]
      .map((generation) => counted.filter((window) => window.generation === generation));
    return { ...arm, values: SHARES.map(at), chosen: at(share),
      dots: launches.filter((windows) => callsOf(windows) >= leastCalls(share)).map((windows) => quantile(ascending(windows.flatMap((window) => window.samples)), share)) };
  }).filter(({ values }) => values[0] !== undefined);
  const values = measured.flatMap((arm) => [...arm.values, ...arm.dots]).filter((value) => value !== undefined);
  const unit = unitOf(Math.min(...values)), axis = axisOf(values, unit[1], scale());
  const rows = measured.map((arm) => {
    const known = arm.values.filter((value) => value !== undefined).map(axis.at);
    const marks = [...gridOf(axis), line("whisker thin", known[0], known.at(-1), 50), ...known.map((at) => line("step mark", at, at, 30, 70))];
    marks.push(...arm.dots.map((value) => dot("launch", axis.at(value), 50, 2.5)));
    if (arm.chosen !== undefined) marks.push(dot("point", axis.at(arm.chosen), 50, 5.5, time(arm.chosen)));
    return strip(arm, 30, marks, [arm.chosen === undefined ? NO_VALUE : time(arm.chosen)]);
  });
  const name = nameOfShare(share);
  return {
    drawn: picture(`${name} of all calls: ${measured.map((arm) => `${arm.name} ${arm.chosen === undefined ? "absent" : time(arm.chosen)}`).join("; ")}`,
      [...rows, axisRow(labelsOf(axis)), html("p", { class: "plot-label", "aria-hidden": "true" }, `${unit[0]} a call${axis.log ? ", logarithmic" : ""} · lower is better`)]),
    note: `The large point is the ${name} over all calls that count, small points are launches; marks stand at p50, p75, p90, p95, p99 and p99.9, as far as there are calls enough.${share > 0.5 ? ` A ${name} needs ${leastCalls(share)} calls: of fewer, not even the slowest bounds it from above (95 %).` : ""}`,
  };
};
