// SPDX-License-Identifier: Apache-2.0
// What all parts of the page share: the database, what the session allows, the server's clock.

import type { Info } from "./info";
import type { TtlStats } from "./ttlstats";

export const state = {
  db: 0,
  readOnly: false,
  /** The server's time minus this machine's, in milliseconds. */
  clockOffset: 0,
};

/** The time of the server, by which deadlines are meant. */
export function serverNow(): number {
  return Date.now() + state.clockOffset;
}

/** What one poll has found, for the panels. */
export interface Sample {
  ms: number;
  info: Info;
  stats: TtlStats | null;
  /** Growth per second of the counters; null for the first sample and after a restart. */
  rates: Record<string, number> | null;
}

/** A part of the page that shows samples. */
export interface Panel {
  update(sample: Sample): void;
}
