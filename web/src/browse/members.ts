// SPDX-License-Identifier: Apache-2.0
// Reads one key: what it is, and a page of its members with their deadlines. Every request is
// bounded; values are cut for display.

import { type Command, type Reply, Refused, run, valueOf } from "../core/api";
import { type Name, type Value, ValueMap, isName, show, toList, toNumber } from "../core/values";
import { type Run, scanned } from "./search";

const PAGE = 100;
const SHOWN_BYTES = 8192;

export interface Key {
  name: Name;
  type: string;
  deadline: number | null;
  size: number | null;
  encoding: string;
  length: number | null;
}

export interface Member {
  name: Name;
  /** The value of a hash field, the score of a sorted-set member, an item of a list. */
  value: string;
  deadline: number | null;
}

export interface Page {
  members: Member[];
  /** Where the next page begins; null if there is none. */
  next: string | null;
}

export interface MemberOptions {
  order: "stored" | "soonest";
}

interface Family {
  letter: "H" | "S" | "Z";
  word: "FIELDS" | "MEMBERS";
  remove: string;
}

const FAMILIES: Record<string, Family> = {
  hash: { letter: "H", word: "FIELDS", remove: "HDEL" },
  set: { letter: "S", word: "MEMBERS", remove: "SREM" },
  zset: { letter: "Z", word: "MEMBERS", remove: "ZREM" },
};
const LENGTHS: Record<string, string> = {
  string: "STRLEN", hash: "HLEN", set: "SCARD", zset: "ZCARD", list: "LLEN", stream: "XLEN",
};

/** What a member of a key of this type is called. */
export const NOUN: Record<string, string> = { hash: "field", set: "member", zset: "member" };

/** Whether the members of this type can have a TTL of their own. */
export function hasMemberTtl(type: string): boolean {
  return type in FAMILIES;
}

/** null if the key is gone. */
export async function readKey(db: number, name: Name, execute: Run = run): Promise<Key | null> {
  const replies = await execute(db, [["TYPE", name], ["PEXPIRETIME", name],
                                     ["MEMORY", "USAGE", name], ["OBJECT", "ENCODING", name]]);
  const [type, deadline, size, encoding] = replies.map(valueOf);
  if (typeof type !== "string" || type === "none") return null;
  const ms = toNumber(deadline, -1);
  const command = LENGTHS[type];
  const length = command ? valueOf((await execute(db, [[command, name]]))[0]) : null;
  return {
    name, type, deadline: ms < 0 ? null : ms, size: size === null ? null : toNumber(size),
    encoding: isName(encoding ?? null) ? show(encoding as Name) : "",
    length: length === null ? null : toNumber(length),
  };
}

/** The beginning of a string. */
export async function readString(db: number, name: Name, execute: Run = run): Promise<Name> {
  const value = good((await execute(db, [["GETRANGE", name, "0", String(SHOWN_BYTES - 1)]]))[0]);
  return isName(value) ? value : "";
}

/** A page of members, beginning at `cursor`, which is "0" or what the last page gave. */
export async function readMembers(db: number, key: Key, cursor: string, options: MemberOptions,
                                  execute: Run = run): Promise<Page> {
  const family = FAMILIES[key.type];
  if (family && options.order === "soonest") return bySoonest(db, key, family, cursor, execute);
  switch (key.type) {
    case "hash":
    case "set":
      return byScan(db, key, family as Family, cursor, execute);
    case "zset":
      return byRank(db, key, cursor, execute);
    case "list":
      return listItems(db, key, cursor, execute);
    case "stream":
      return streamEntries(db, key, cursor, execute);
    default:
      return { members: [], next: null };
  }
}

function good(reply: Reply | undefined): Value {
  if (!reply || "error" in reply) throw new Refused(200, reply ? reply.error : "no reply");
  return reply.ok;
}

async function byScan(db: number, key: Key, family: Family, cursor: string,
                      execute: Run): Promise<Page> {
  const [reply] = await execute(db, [
    [`${family.letter}SCAN`, key.name, cursor, "COUNT", String(PAGE)]]);
  const [next, list] = scanned(reply);
  const members: Member[] = [];
  const step = key.type === "hash" ? 2 : 1;
  for (let at = 0; at < list.length; at += step) {
    const name = list[at];
    if (isName(name)) {
      members.push({ name, value: step === 2 ? text(list[at + 1] ?? null) : "", deadline: null });
    }
  }
  await fillDeadlines(db, key, family, members, execute);
  return { members, next: next === "0" ? null : next };
}

async function byRank(db: number, key: Key, cursor: string, execute: Run): Promise<Page> {
  const start = Number(cursor);
  const pairs = toList(good((await execute(db, [
    ["ZRANGE", key.name, String(start), String(start + PAGE - 1), "WITHSCORES"]]))[0]));
  const flat = pairs.every((pair) => Array.isArray(pair)) ? pairs.flatMap(toList) : pairs;
  const members: Member[] = [];
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const name = flat[at] ?? null;
    if (isName(name)) members.push({ name, value: text(flat[at + 1] ?? null), deadline: null });
  }
  await fillDeadlines(db, key, FAMILIES["zset"] as Family, members, execute);
  return { members, next: members.length === PAGE ? String(start + PAGE) : null };
}

async function bySoonest(db: number, key: Key, family: Family, cursor: string,
                         execute: Run): Promise<Page> {
  const [reply] = await execute(db, [[
    `${family.letter}EXPIRESCAN`, key.name, cursor, "FROM", "-", "TO", "+",
    "COUNT", String(PAGE)]]);
  const [next, list] = scanned(reply);
  const members: Member[] = [];
  for (const pair of list) {
    const [name, deadline] = toList(pair);
    if (isName(name)) members.push({ name, value: "", deadline: toNumber(deadline) });
  }
  if (members.length > 0 && key.type !== "set") {
    const names = members.map((member) => member.name);
    const command = key.type === "hash" ? "HMGET" : "ZMSCORE";
    const values = toList(valueOf((await execute(db, [[command, key.name, ...names]]))[0]));
    members.forEach((member, index) => { member.value = text(values[index] ?? null); });
  }
  return { members, next: next === "0" ? null : next };
}

async function fillDeadlines(db: number, key: Key, family: Family, members: Member[],
                             execute: Run): Promise<void> {
  if (members.length === 0) return;
  const replies = await execute(db, [[
    `${family.letter}PEXPIRETIME`, key.name, family.word, String(members.length),
    ...members.map((member) => member.name)]]);
  const deadlines = toList(valueOf(replies[0]));
  members.forEach((member, index) => {
    const ms = toNumber(deadlines[index], -1);
    member.deadline = ms < 0 ? null : ms;
  });
}

async function listItems(db: number, key: Key, cursor: string, execute: Run): Promise<Page> {
  const start = Number(cursor);
  const items = toList(good((await execute(db, [
    ["LRANGE", key.name, String(start), String(start + PAGE - 1)]]))[0]));
  return {
    members: items.map((item, index) => ({ name: String(start + index), value: text(item),
                                           deadline: null })),
    next: items.length === PAGE ? String(start + PAGE) : null,
  };
}

async function streamEntries(db: number, key: Key, cursor: string, execute: Run): Promise<Page> {
  const from = cursor === "0" ? "-" : `(${cursor}`;
  const entries = toList(good((await execute(db, [
    ["XRANGE", key.name, from, "+", "COUNT", String(PAGE)]]))[0]));
  const members = entries.map((entry) => {
    const [id, fields] = toList(entry);
    return { name: isName(id) ? id : "", value: toList(fields).map(text).join(" "), deadline: null };
  });
  const last = members[members.length - 1];
  return { members, next: members.length === PAGE && last ? String(last.name) : null };
}

function text(value: Value): string {
  const full = isName(value) ? show(value) : value === null ? "" : plain(value);
  return full.length > SHOWN_BYTES ? `${full.slice(0, SHOWN_BYTES)} …` : full;
}

function plain(value: Value): string {
  if (Array.isArray(value)) return value.map(text).join(" ");
  if (value instanceof ValueMap) {
    return value.entries.map(([one, other]) => `${text(one)} ${text(other)}`).join(" ");
  }
  return String(value);
}

/** The command that gives a key, or one of its members, this time to live. */
export function expireCommand(key: Key, member: Name | null, ms: number): Command {
  if (member === null) return ["PEXPIRE", key.name, String(ms)];
  const { letter, word } = FAMILIES[key.type] as Family;
  return [`${letter}PEXPIRE`, key.name, String(ms), word, "1", member];
}

export function persistCommand(key: Key, member: Name | null): Command {
  if (member === null) return ["PERSIST", key.name];
  const { letter, word } = FAMILIES[key.type] as Family;
  return [`${letter}PERSIST`, key.name, word, "1", member];
}

export function deleteCommand(key: Key, member: Name | null): Command {
  if (member === null) return ["UNLINK", key.name];
  return [(FAMILIES[key.type] as Family).remove, key.name, member];
}
