// SPDX-License-Identifier: Apache-2.0
// The tables: what is due within a second to a week, lateness, slow commands, replication.

import { type Command, type Reply, valueOf } from "../core/api";
import { byId, fillRows, h, setHidden, setText, table } from "../core/dom";
import * as format from "../core/format";
import type { Info } from "../core/info";
import type { Panel } from "../core/state";
import { isName, show, toList, toNumber } from "../core/values";

const WITHIN: Record<string, string> = {
  "1s": "1 second", "10s": "10 seconds", "1m": "1 minute", "10m": "10 minutes", "1h": "1 hour",
  "1d": "1 day", "1w": "1 week", later: "later",
};

export function duePanel(): Panel {
  const { element, body } = table("Entries by the time until they expire",
                                  ["Within", "Share", "Entries", "Members", "Bytes"]);
  byId("due").append(element);
  return {
    update({ stats }) {
      if (!stats) return;
      fillRows(body, stats.histogram.map((due) => [
        WITHIN[due.within] ?? due.within, "", format.count(due.entries),
        format.count(due.members), format.bytes(due.bytes),
      ]));
      stats.histogram.forEach((due, index) => {
        const cell = body.rows[index]?.cells[1];
        if (!cell) return;
        const bar = cell.querySelector("i") ?? meter(cell);
        bar.style.width = `${stats.entries > 0 ? (100 * due.entries) / stats.entries : 0}%`;
      });
    },
  };
}

function meter(cell: HTMLElement): HTMLElement {
  const bar = h("i");
  cell.replaceChildren(h("span", { class: "meter", "aria-hidden": "true" }, bar));
  return bar;
}

const CAUSES: Record<string, string> = { sweep: "Sweep", access: "Access" };

export function latenessPanel(): Panel {
  const { element, body } = table("How late entries were removed after their deadline",
                                  ["ms", "p50", "p90", "p99", "p99.9", "max"]);
  const counts = h("p", { class: "dim foot" });
  const note = h("p", { class: "dim" },
                 "Milliseconds from deadline to removal: by the sweep, or by the command that came " +
                 "first. A deadline that has passed is never seen by a command.");
  byId("lateness").append(element, counts, note);
  return {
    update({ stats }) {
      if (!stats) return;
      const number = (ms: number) => (ms < 10 && !Number.isInteger(ms) ? ms.toFixed(1)
                                                                       : format.count(ms));
      fillRows(body, stats.lateness.map((row) => [
        CAUSES[row.cause] ?? row.cause, ...(row.count === 0 ? ["–", "–", "–", "–", "–"]
          : [row.p50, row.p90, row.p99, row.p999, row.max].map(number)),
      ]));
      setText(counts, stats.lateness.map((row) =>
        `${CAUSES[row.cause] ?? row.cause}: ${format.count(row.count)} removed`).join(", "));
    },
  };
}

/** Slow commands and the commands that took most time; asked for less often than the rest. */
export class SlowPanel {
  static readonly commands: Command[] = [["SLOWLOG", "GET", "20"], ["INFO", "commandstats"]];
  private readonly slow = table("Slow commands, latest first", ["Command", "Took", "At"]);
  private readonly busy = table("Commands by time spent", ["Command", "Calls", "Each", "Failed"]);
  private readonly none = h("p", { class: "empty" }, "None took longer than the server's limit.");

  constructor() {
    const region = h("div", { class: "scroll", tabindex: "0", role: "region",
                              "aria-label": "List of slow commands" },
                     this.none, this.slow.element, h("h3", { class: "dim" }, "Most time spent"),
                     this.busy.element);
    byId("slow").append(region);
  }

  update(replies: Reply[], info: Info): void {
    const entries = toList(valueOf(replies[0]));
    setHidden(this.none, entries.length > 0);
    setHidden(this.slow.element, entries.length === 0);
    fillRows(this.slow.body, entries.map((entry) => {
      const [, at, micros, words] = toList(entry);
      const line = toList(words).map((word) => (isName(word) ? show(word) : "?")).join(" ");
      return [line.slice(0, 200), format.duration(toNumber(micros) / 1000),
              format.clock(toNumber(at) * 1000)];
    }));
    for (const row of this.slow.body.rows) {
      const cell = row.cells[0] as HTMLTableCellElement;
      cell.className = "grow mono";
      cell.title = cell.textContent ?? "";
    }
    fillRows(this.busy.body, info.commands().slice(0, 10).map((row) => [
      row.name.replace("|", " "), format.count(row.calls),
      `${(row.usec / Math.max(1, row.calls)).toFixed(1)} µs`, format.count(row.failed),
    ]));
  }
}

export function replicationPanel(): Panel {
  const facts = h("dl", { class: "facts" });
  const { element, body } = table("Replicas", ["Replica", "State", "Lag", "Behind"]);
  const none = h("p", { class: "empty" }, "No replica is connected.");
  byId("replication").append(facts, none,
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Replicas" }, element));
  return {
    update({ info }) {
      const isPrimary = info.text("role") === "master";
      const pairs = isPrimary
        ? [["Role", "primary"], ["Offset", format.count(info.number("master_repl_offset"))]]
        : [["Role", "replica"],
           ["Of", `${info.text("master_host")}:${info.text("master_port")}`],
           ["Link", info.text("master_link_status")],
           ["Offset", format.count(info.number("slave_repl_offset"))]];
      pairs.push(["Saved", info.number("aof_enabled") ? "AOF" : "RDB"]);
      if (facts.children.length !== pairs.length) {
        facts.replaceChildren(...pairs.map(() => h("div", {}, h("dt"), h("dd"))));
      }
      pairs.forEach(([name, value], index) => {
        const pair = facts.children[index] as HTMLElement;
        setText(pair.children[0] as Element, name ?? "");
        setText(pair.children[1] as Element, value ?? "");
      });
      const replicas = info.replicas();
      setHidden(none, replicas.length > 0);
      setHidden(element, replicas.length === 0);
      const offset = info.number("master_repl_offset");
      fillRows(body, replicas.map((replica) => [
        replica.address, replica.state, `${replica.lag} s`,
        format.bytes(Math.max(0, offset - replica.offset)),
      ]));
    },
  };
}
