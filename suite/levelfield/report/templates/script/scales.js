// Charts drawn anew: on another scale, and around those rows that are shown. Positions are percents of the width.
const LOG_FROM = 3;
const NICE = [[1, 2, 5], [1, 3], [1]];

const linearTicks = (low, high, wanted = 5) => {
  const raw = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 2.5, 5, 10].find((nice) => power * nice >= raw);
  const ticks = [];
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + 1e-9 * step; index += 1) ticks.push(index * step);
  return ticks;
};
const logTicks = (low, high) => {
  let ticks = [];
  for (const nice of NICE) {
    ticks = [];
    for (let decade = Math.floor(Math.log10(low)); decade <= Math.ceil(Math.log10(high)); decade += 1) {
      ticks.push(...nice.map((digit) => digit * 10 ** decade).filter((tick) => low <= tick && tick <= high));
    }
    if (ticks.length > 1 && ticks.length <= 7) return ticks;
  }
  const every = Math.ceil(ticks.length / 7) || 1;
  return ticks.length > 1 ? ticks.filter((_, index) => index % every === 0) : linearTicks(low, high);
};
const tickLabel = (value) => {
  const [whole, rest] = String(Number(value.toPrecision(10))).split(".");
  return grouped(whole) + (rest ? `.${rest}` : "");
};

/** An axis on which all values fit with a little air; `scale` is "linear", "log", or "" for what fits. */
const axisOf = (values, factor, scale, zero = false) => {
  let low = Math.min(...values), high = Math.max(...values);
  const log = !zero && low > 0 && (scale === "log" || (scale === "" && high / low > LOG_FROM));
  if (zero) [low, high] = [0, (high || 1) * 1.03];
  else if (log) {
    const air = Math.max((high / low) ** 0.05, 1.01);
    [low, high] = [low / air, high * air];
  } else {
    const air = Math.max((high - low) * 0.06, high * 0.01);
    [low, high] = [Math.max(low - air, 0), high + air];
  }
  const share = log ? (value) => Math.log(value / low) / Math.log(high / low) : (value) => (value - low) / (high - low);
  const at = (value) => 100 * Math.min(Math.max(share(value), 0), 1);
  const ticks = (log ? logTicks : linearTicks)(low / factor, high / factor);
  return { log, at, ticks: ticks.map((tick) => ({ label: tickLabel(tick), at: at(tick * factor) })) };
};
const gridOf = (axis) => axis.ticks.map(({ at }) => svg("line", { class: "grid", x1: `${at}%`, x2: `${at}%`, y1: "0", y2: "100%" }));
const labelsOf = (axis) => axis.ticks.map(({ at, label }) => svg("text", { x: `${at}%`, y: "14", "text-anchor": "middle" }, label));

const charts = all(".plot[data-low]").map((plot) => {
  const { low, high, factor, log, label, better } = plot.dataset;
  const [from, to] = [Number(low), Number(high)];
  const value = log === "yes" ? (at) => from * (to / from) ** (at / 100) : (at) => from + ((to - from) * at) / 100;
  const rows = all(".plot-row[data-arm]", plot).map((row) => {
    const places = all("circle, line:not(.grid), rect", row).flatMap((mark) => {
      const start = (name) => parseFloat(mark.getAttribute(name));
      if (mark.tagName !== "rect") return ["cx", "x1", "x2"].filter((name) => mark.hasAttribute(name))
        .map((name) => ({ mark, name, value: value(start(name)) }));
      return [{ mark, name: "x", value: value(start("x")), end: value(start("x") + start("width")) }];
    });
    return { row, track: row.querySelector(".track"), places };
  });
  return { plot, rows, factor: Number(factor), label, better, zero: plot.classList.contains("bars") };
});

const drawScale = (chart, scale) => {
  if (chart.plot.dataset.cut) return;
  const shown = chart.rows.filter(({ row }) => !row.classList.contains("out"));
  const values = shown.flatMap(({ places }) => places.map((place) => place.end ?? place.value));
  if (!values.length) return;
  const axis = axisOf(values, chart.factor, scale, chart.zero);
  for (const { track, places } of shown) {
    all(".grid", track).forEach((line) => line.remove());
    track.prepend(...gridOf(axis));
    for (const { mark, name, value, end } of places) {
      mark.setAttribute(name, `${axis.at(value)}%`);
      if (end !== undefined) mark.setAttribute("width", `${axis.at(end) - axis.at(value)}%`);
    }
  }
  chart.plot.dataset.log = axis.log ? "yes" : "no";
  chart.plot.querySelector(".plot-axis .track").replaceChildren(...labelsOf(axis));
  chart.plot.querySelector(".plot-label").textContent = `${chart.label}${axis.log ? ", logarithmic" : ""} · ${chart.better}`;
};
