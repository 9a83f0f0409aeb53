// SPDX-License-Identifier: Apache-2.0
// Numbers, sizes, durations and times as text: short, and the same everywhere on the page.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** 1,234,567 */
export function count(value: number | bigint): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 0 });
}

/** 0, 7, 999, 1.2k, 35k, 1.2M: for axes and narrow columns. */
export function shortCount(value: number): string {
  return scaled(value, 1000, ["", "k", "M", "G", "T"]);
}

/** 0 B, 812 B, 1.5 KiB, 39 MiB */
export function bytes(value: number): string {
  return scaled(value, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]);
}

/** The same with up to two decimals, for the marks of an axis: 1.25 MiB. */
export function exactBytes(value: number): string {
  return scaled(value, 1024, [" B", " KiB", " MiB", " GiB", " TiB"], 2);
}

function scaled(value: number, base: number, units: string[], decimals = 1): string {
  const sign = value < 0 ? "-" : "";
  let rest = Math.abs(value);
  let unit = 0;
  while (rest >= base * 0.9995 && unit + 1 < units.length) {
    rest /= base;
    unit += 1;
  }
  const digits = rest < 10 && !Number.isInteger(rest) ? decimals : 0;
  return `${sign}${Number(rest.toFixed(digits))}${units[unit]}`;
}

/** 0, 0.4, 12, 1,234 per second */
export function rate(value: number): string {
  if (value > 0 && value < 10) return value.toFixed(1).replace(/\.0$/, "");
  return count(Math.round(value));
}

/** The two leading parts of a duration: 850 ms, 4.2 s, 3 m 20 s, 2 d 4 h. */
export function duration(ms: number): string {
  const rest = Math.abs(ms);
  const sign = ms < 0 ? "-" : "";
  if (rest < SECOND) return `${sign}${Math.round(rest)} ms`;
  if (rest < MINUTE) return `${sign}${(Math.floor(rest / 100) / 10).toFixed(1)} s`;
  if (rest < HOUR) return sign + parts(rest, MINUTE, "m", SECOND, "s");
  if (rest < DAY) return sign + parts(rest, HOUR, "h", MINUTE, "m");
  return sign + parts(rest, DAY, "d", HOUR, "h");
}

function parts(ms: number, large: number, largeUnit: string, small: number, smallUnit: string) {
  const first = Math.floor(ms / large);
  const second = Math.floor((ms % large) / small);
  return second === 0 ? `${first} ${largeUnit}` : `${first} ${largeUnit} ${second} ${smallUnit}`;
}

/** 21:04:05, in the reader's own time zone. */
export function clock(ms: number): string {
  return new Date(ms).toLocaleTimeString("en-GB");
}

/** 2026-11-16 21:04:05.123, in the reader's own time zone. */
export function dateTime(ms: number): string {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return `${ms} ms`;
  const two = (value: number, width = 2) => String(value).padStart(width, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return `${day} ${time}.${two(date.getMilliseconds(), 3)}`;
}

const UNITS: Record<string, number> = {
  ms: 1, s: SECOND, m: MINUTE, h: HOUR, d: DAY, w: 7 * DAY,
};

/** The milliseconds of "90", "90s", "1h 30m" or "2d"; null if that is no duration above zero. */
export function parseDuration(text: string): number | null {
  const trimmed = text.trim().toLowerCase();
  if (/^\d+(\.\d+)?$/.test(trimmed)) return positive(Number(trimmed) * SECOND);
  if (!/^(\d+(\.\d+)?\s*(ms|s|m|h|d|w)\s*)+$/.test(trimmed)) return null;
  let sum = 0;
  for (const found of trimmed.matchAll(/(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)/g)) {
    sum += Number(found[1]) * (UNITS[found[2] as string] as number);
  }
  return positive(sum);
}

function positive(ms: number): number | null {
  const rounded = Math.round(ms);
  return rounded > 0 && Number.isSafeInteger(rounded) ? rounded : null;
}
