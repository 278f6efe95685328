// Numbers as the page writes them, and back.
const NO_VALUE = "–", GROUP = "\u202f", NBSP = "\u00a0", MINUS = "\u2212";
const TIMES = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];
const UNITS = {
  ns: 1e-9, "µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, k: 1e3, M: 1e6, G: 1e9,
  KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40,
};
const POWERS = { k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15 };
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

const grouped = (whole) => whole.replace(/\B(?=(\d{3})+$)/g, GROUP);
const fixed = (value, decimals) => {
  const [whole, rest] = Math.abs(value).toFixed(decimals).split(".");
  return (value < 0 ? MINUS : "") + grouped(whole) + (rest ? `.${rest}` : "");
};
const digits = (value, significant = 3) => {
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return NO_VALUE;
  const exponent = Math.floor(Math.log10(Number(Math.abs(value).toPrecision(significant))));
  return fixed(value, Math.max(0, significant - 1 - exponent));
};
const unitOf = (ns) => TIMES.find(([, factor]) => ns >= factor) || TIMES[3];
const time = (ns, [unit, factor] = unitOf(ns)) => `${digits(ns / factor)}${NBSP}${unit}`;
const percent = (share) => {
  const value = 100 * share;
  if (Math.abs(value) < 0.05) return `±0.0${NBSP}%`;
  return `${value < 0 ? MINUS : "+"}${fixed(Math.abs(value), Math.abs(value) < 9.95 ? 1 : 0)}${NBSP}%`;
};

/** The first number of a cell, in its base unit; undefined where there is none. A multiple, 3.40×, counts as +240 %. */
const numberIn = (text) => {
  const plain = text.replaceAll(GROUP, "").replaceAll(MINUS, "-").replaceAll("\u2060", "").trim();
  const found = plain.match(/^[+<>±]?\s*(-?\d+(?:\.\d+)?)(?:×10(⁻?)([⁰¹²³⁴⁵⁶⁷⁸⁹]+))?\s*([^\s\d(–·×%]*)/);
  if (!found) return undefined;
  if (/^\d+(?:\.\d+)?×(?!10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹])/.test(plain)) return 100 * (Number(found[1]) - 1);
  const power = [...(found[3] || "")].reduce((sum, sign) => 10 * sum + SUPERSCRIPTS.indexOf(sign), 0);
  const unit = found[4];
  const prefixed = unit.match(/^([kMGTP])(?:FLOP|B)/);
  return Number(found[1]) * 10 ** (found[2] ? -power : power) * (UNITS[unit] ?? (prefixed ? POWERS[prefixed[1]] : 1));
};
const quantile = (sorted, share) => {
  const place = (sorted.length - 1) * share, below = Math.floor(place);
  return sorted[below] + (sorted[Math.min(below + 1, sorted.length - 1)] - sorted[below]) * (place - below);
};
const ascending = (values) => new Float64Array(values).sort();
