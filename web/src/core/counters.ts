// SPDX-License-Identifier: Apache-2.0
// The counters whose growth per second the page shows.

import type { Info } from "./info";
import type { TtlStats } from "./ttlstats";

export function counters(info: Info, stats: TtlStats | null): Record<string, number> {
  const late = (cause: string) => stats?.lateness.find((row) => row.cause === cause)?.count ?? 0;
  return {
    commands: info.number("total_commands_processed"),
    expired: info.number("expired_keys") + info.number("expired_fields"),
    sweep: late("sweep"),
    access: late("access"),
    past: info.number("expired_past"),
  };
}
