// SPDX-License-Identifier: Apache-2.0
// Reads the reply of TTLSTATS.

import { type Value, toList, toMap, toNumber, isName, show } from "./values";

export interface Due {
  within: string;
  until: number;
  keys: number;
  members: number;
  entries: number;
  bytes: number;
}

export interface Lateness {
  cause: string;
  count: number;
  p50: number;
  p90: number;
  p99: number;
  p999: number;
  max: number;
}

/** What will have expired at a moment, and how much memory will be in use then. */
export interface Forecast {
  at: number;
  entries: number;
  bytes: number;
  memory: number;
}

export interface TtlStats {
  now: number;
  entries: number;
  keys: number;
  members: number;
  bytes: number;
  overdue: number;
  oldestOverdueMs: number;
  histogram: Due[];
  lateness: Lateness[];
  forecast: Forecast[];
}

export function readTtlStats(value: Value): TtlStats {
  const map = toMap(value);
  const number = (name: string) => toNumber(map.get(name));
  return {
    now: number("now"),
    entries: number("entries"),
    keys: number("keys"),
    members: number("members"),
    bytes: number("bytes"),
    overdue: number("overdue"),
    oldestOverdueMs: number("oldest_overdue_ms"),
    histogram: toList(map.get("histogram")).map(readDue),
    lateness: toMap(map.get("lateness")).entries.map(([cause, row]) => readLateness(cause, row)),
    forecast: toList(map.get("forecast")).map(readForecast),
  };
}

function readDue(value: Value): Due {
  const row = toMap(value);
  const within = row.get("within");
  return {
    within: isName(within) ? show(within) : "",
    until: toNumber(row.get("until")),
    keys: toNumber(row.get("keys")),
    members: toNumber(row.get("members")),
    entries: toNumber(row.get("entries")),
    bytes: toNumber(row.get("bytes")),
  };
}

function readLateness(cause: Value, value: Value): Lateness {
  const row = toMap(value);
  const number = (name: string) => toNumber(row.get(name));
  return {
    cause: isName(cause) ? show(cause) : "",
    count: number("count"), p50: number("p50"), p90: number("p90"), p99: number("p99"),
    p999: number("p999"), max: number("max"),
  };
}

function readForecast(value: Value): Forecast {
  const row = toMap(value);
  const number = (name: string) => toNumber(row.get(name));
  return { at: number("at"), entries: number("entries"), bytes: number("bytes"),
           memory: number("memory") };
}
