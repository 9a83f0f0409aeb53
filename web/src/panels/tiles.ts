// SPDX-License-Identifier: Apache-2.0
// The numbers at the top of the page.

import { byId, h, setText } from "../core/dom";
import * as format from "../core/format";
import type { Panel, Sample } from "../core/state";

interface Tile {
  id: string;
  label: string;
  value(sample: Sample): string;
  note(sample: Sample): string;
  warns?(sample: Sample): boolean;
}

const perSecond = (sample: Sample, name: string) =>
  sample.rates ? format.rate(sample.rates[name] ?? 0) : "–";

const TILES: Tile[] = [
  {
    id: "keys", label: "Keys",
    value: ({ info }) => format.count(info.keys()),
    note: ({ info }) => databases(info.databases().length),
  },
  {
    id: "members", label: "Members",
    value: ({ info, stats }) => (info.has("members")
      ? format.count(info.number("members")) : format.count(stats?.members ?? 0)),
    note: ({ info, stats }) => (info.has("members")
      ? `${format.count(stats?.members ?? 0)} expire` : "that expire"),
  },
  {
    id: "expiring", label: "Expiring entries",
    value: ({ stats }) => (stats ? format.count(stats.entries) : "–"),
    note: ({ stats }) => (stats ? `${format.bytes(stats.bytes)} to be freed` : ""),
  },
  {
    id: "overdue", label: "Overdue",
    value: ({ stats }) => (stats ? format.count(stats.overdue) : "–"),
    note: ({ stats }) => (stats && stats.overdue > 0
      ? `oldest ${format.duration(stats.oldestOverdueMs)}` : "nothing waits"),
    warns: ({ stats }) => (stats?.oldestOverdueMs ?? 0) > 1000,
  },
  {
    id: "memory", label: "Memory",
    value: ({ info }) => format.bytes(info.number("used_memory")),
    note: ({ info }) => (info.number("maxmemory") > 0
      ? `of ${format.bytes(info.number("maxmemory"))}` : "no limit set"),
    warns: ({ info }) => info.number("maxmemory") > 0 &&
      info.number("used_memory") > 0.9 * info.number("maxmemory"),
  },
  {
    id: "clients", label: "Clients",
    value: ({ info }) => format.count(info.number("connected_clients")),
    note: ({ info }) => `${format.count(info.number("blocked_clients"))} blocked`,
  },
  {
    id: "commands", label: "Commands/s",
    value: (sample) => perSecond(sample, "commands"),
    note: ({ info }) => `${format.count(info.number("total_commands_processed"))} so far`,
  },
  {
    id: "expired", label: "Expired/s",
    value: (sample) => perSecond(sample, "expired"),
    note: ({ info }) =>
      `${format.count(info.number("expired_keys") + info.number("expired_fields"))} so far`,
  },
];

function databases(count: number): string {
  return count === 1 ? "in 1 database" : `in ${count} databases`;
}

export function tiles(): Panel {
  const parts = TILES.map((tile) => {
    const value = h("dd", { class: "value", id: `tile-${tile.id}` }, "–");
    const note = h("dd", { class: "note" });
    return { tile, value, note, element: h("div", { class: "tile" }, h("dt", {}, tile.label),
                                           value, note) };
  });
  byId("overview").append(h("dl", {}, ...parts.map((part) => part.element)));
  return {
    update(sample) {
      for (const { tile, value, note, element } of parts) {
        setText(value, tile.value(sample));
        setText(note, tile.note(sample));
        element.classList.toggle("warn", tile.warns?.(sample) ?? false);
      }
    },
  };
}
