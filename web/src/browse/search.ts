// SPDX-License-Identifier: Apache-2.0
// Finds keys, a bounded step at a time and only when the user asks. The order by time comes from
// the server's index (EXPIRESCAN), so it is exact from the first row on. The order by size or name
// is that of the keys examined so far, for no index has it.

import { type Command, type Reply, Refused, run, valueOf } from "../core/api";
import { type Name, idOf, isName, show, toList, toNumber } from "../core/values";

export type Order = "soonest" | "largest" | "name";

export interface Query {
  pattern: string;
  type: string;  // "" for all
  order: Order;
  from: number | null;  // unix milliseconds, only for the order by time
  to: number | null;
}

export interface Row {
  name: Name;
  type: string;
  deadline: number | null;
  size: number | null;
  /** The member that expires first, if one expires before the key does. */
  member: Expiring | null;
}

export interface Expiring {
  name: Name | null;  // null if it was not asked for
  deadline: number;
}

export type Run = (db: number, commands: Command[]) => Promise<Reply[]>;

const PAGE = 50;           // rows that one step by time adds, or a few more
const FILTER_COUNT = 200;  // keys that one EXPIRESCAN examines if there is a pattern or type
const SCAN_COUNT = 1000;   // keys that one SCAN examines
const STEP_KEYS = 20_000;  // keys that one step examines at most
const MOST_ROWS = 200;     // rows that are kept
const BATCH = 120;         // commands in one request
const NAMED_BYTES = 1 << 20;  // of a key whose first member is asked for: many may expire together
const GLOB = /[*?[\]\\]/;
const SCAN_MEMBERS: Record<string, string> = {
  hash: "HEXPIRESCAN", set: "SEXPIRESCAN", zset: "ZEXPIRESCAN",
};

export class Search {
  rows: Row[] = [];
  examined = 0;
  done = false;
  /** How many keys the database has; known once a search by time has found none. */
  total: number | null = null;
  private exact: Row | null = null;  // the key of just this name stays first
  private began = false;
  private cursor = "0";
  private readonly seen = new Set<string>();

  constructor(private readonly db: number, readonly query: Query,
              private readonly execute: Run = run) {}

  /** Adds rows. `goOn` is asked between two requests whether the user still waits. */
  async more(goOn: () => boolean = () => true): Promise<void> {
    if (this.done) return;
    if (!this.began) await this.findExact();
    this.began = true;
    if (this.query.order === "soonest") await this.stepByTime(goOn);
    else await this.stepByScan(goOn);
    if (this.done && this.rows.length === 0 && this.query.order === "soonest") {
      this.total = toNumber(valueOf((await this.execute(this.db, [["DBSIZE"]]))[0]));
    }
  }

  /** A name without glob characters may be that of a key, wherever a scan would meet it. */
  private async findExact(): Promise<void> {
    const { pattern, type, from } = this.query;
    if (pattern === "" || GLOB.test(pattern) || from !== null) return;
    const row: Row = { name: pattern, type: "", deadline: null, size: null, member: null };
    await fillIn(this.db, [row], this.execute);
    if (row.type === "none" || (type !== "" && row.type !== type)) return;
    this.isSeen(row.name);
    this.exact = row;
    this.rows.push(row);
  }

  private filters(): string[] {
    const { pattern, type } = this.query;
    const glob = pattern === "" || GLOB.test(pattern) ? pattern : `*${pattern}*`;
    return [...(glob === "" || glob === "*" ? [] : ["MATCH", glob]),
            ...(type === "" ? [] : ["TYPE", type])];
  }

  private async stepByTime(goOn: () => boolean): Promise<void> {
    const { from, to } = this.query;
    const filters = this.filters();
    const count = filters.length === 0 ? PAGE : FILTER_COUNT;
    const start = this.examined;
    const rows: Row[] = [];
    do {
      const [reply] = await this.execute(this.db, [[
        "EXPIRESCAN", this.cursor, "FROM", from === null ? "-" : String(Math.floor(from)),
        "TO", to === null ? "+" : String(Math.ceil(to)), ...filters, "COUNT", String(count),
        "MEMBERS"]]);
      const [cursor, list] = scanned(reply);
      this.cursor = cursor;
      this.done = cursor === "0";
      this.examined += count;
      for (const entry of list) {
        const [name, deadline, what] = toList(entry);
        if (!isName(name) || this.isSeen(name)) continue;
        const member = what === "members" ? { name: null, deadline: toNumber(deadline) } : null;
        rows.push({ name, type: "", deadline: null, size: null, member });
      }
    } while (!this.done && rows.length < PAGE && this.examined - start < STEP_KEYS && goOn());
    await fillIn(this.db, rows, this.execute);
    this.rows.push(...rows.filter((row) => row.type !== "none"));
  }

  private async stepByScan(goOn: () => boolean): Promise<void> {
    const start = this.examined;
    const before = this.rows.length;
    do {
      const [reply] = await this.execute(this.db, [
        ["SCAN", this.cursor, ...this.filters(), "COUNT", String(SCAN_COUNT)]]);
      const [cursor, list] = scanned(reply);
      this.cursor = cursor;
      this.done = cursor === "0";
      this.examined += SCAN_COUNT;
      const found: Row[] = list.filter(isName).filter((name) => !this.isSeen(name))
          .map((name) => ({ name, type: "", deadline: null, size: null, member: null }));
      if (this.query.order === "largest") await sizes(this.db, found, this.execute);
      this.keep(found);
    } while (!this.done && this.examined - start < STEP_KEYS && goOn() &&
             !(this.query.order === "name" && this.rows.length - before >= MOST_ROWS));
    await fillIn(this.db, this.rows.filter((row) => row.type === ""), this.execute);
    this.rows = this.rows.filter((row) => row.type !== "none");
  }

  private keep(found: Row[]): void {
    this.rows.push(...found);
    this.rows.sort(this.query.order === "largest"
      ? (one, other) => (other.size ?? 0) - (one.size ?? 0)
      : (one, other) => compare(show(one.name), show(other.name)));
    const { exact } = this;
    if (exact) this.rows = [exact, ...this.rows.filter((row) => row !== exact)];
    this.rows.length = Math.min(this.rows.length, MOST_ROWS);
  }

  private isSeen(name: Name): boolean {
    const id = idOf(name);
    if (this.seen.has(id)) return true;
    this.seen.add(id);
    return false;
  }
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Cursor and list of any SCAN reply. */
export function scanned(reply: Reply | undefined): [string, ReturnType<typeof toList>] {
  if (!reply || "error" in reply) throw new Refused(200, reply ? reply.error : "no reply");
  const [cursor, list] = toList(reply.ok);
  return [String(cursor ?? "0"), toList(list)];
}

async function inBatches(db: number, commands: Command[], execute: Run): Promise<Reply[]> {
  const replies: Reply[] = [];
  for (let at = 0; at < commands.length; at += BATCH) {
    replies.push(...await execute(db, commands.slice(at, at + BATCH)));
  }
  return replies;
}

async function sizes(db: number, rows: Row[], execute: Run): Promise<void> {
  const replies = await inBatches(db, rows.map(({ name }) => ["MEMORY", "USAGE", name]), execute);
  rows.forEach((row, index) => { row.size = toNumber(valueOf(replies[index])); });
}

/**
 * Type, size and deadlines of rows. The type of a key that is gone is "none". The first member to
 * expire is asked for, but not of large keys: these keep the deadline that the scan has found.
 */
export async function fillIn(db: number, rows: Row[], execute: Run = run): Promise<void> {
  const replies = await inBatches(db, rows.flatMap(({ name }) => [
    ["TYPE", name], ["PEXPIRETIME", name], ["MEMORY", "USAGE", name]]), execute);
  rows.forEach((row, index) => {
    const [type, deadline, size] = replies.slice(3 * index, 3 * index + 3).map(valueOf);
    row.type = typeof type === "string" ? type : "none";
    const ms = toNumber(deadline, -1);
    row.deadline = ms < 0 ? null : ms;
    row.size = size === null ? null : toNumber(size);
  });
  await findMembers(db, rows.filter((row) => row.type in SCAN_MEMBERS), execute);
}

async function findMembers(db: number, rows: Row[], execute: Run): Promise<void> {
  const small = rows.filter((row) => (row.size ?? 0) <= NAMED_BYTES);
  const replies = await inBatches(db, small.map(({ type, name }): Command => [
    SCAN_MEMBERS[type] as string, name, "0", "FROM", "-", "TO", "+", "COUNT", "1"]), execute);
  small.forEach((row, index) => {
    const [, list] = toList(valueOf(replies[index]));
    const [name, deadline] = toList(toList(list)[0] ?? null);
    row.member = isName(name) ? { name, deadline: toNumber(deadline) } : null;
  });
  for (const row of rows) {
    if (row.member && row.deadline !== null && row.deadline <= row.member.deadline) row.member = null;
  }
}
