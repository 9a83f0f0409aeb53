// SPDX-License-Identifier: Apache-2.0
// The command line: words and quotes as in redis-cli, completion, and which commands need a second
// thought.

import type { Name } from "../core/values";

const ESCAPES: Record<string, number> = { n: 10, r: 13, t: 9, b: 8, a: 7 };

/** The words of a line; null if a quote is not closed or is followed by other text. */
export function words(line: string): Name[] | null {
  const found: Name[] = [];
  let rest = line.trimStart();
  while (rest !== "") {
    const one = rest[0] === '"' || rest[0] === "'" ? quoted(rest) : bare(rest);
    if (!one) return null;
    found.push(one.word);
    rest = one.rest;
    if (rest !== "" && !/^\s/.test(rest)) return null;
    rest = rest.trimStart();
  }
  return found;
}

function bare(text: string): { word: Name; rest: string } {
  const word = /^\S+/.exec(text)?.[0] ?? "";
  return { word, rest: text.slice(word.length) };
}

function quoted(text: string): { word: Name; rest: string } | null {
  const quote = text[0];
  const bytes: number[] = [];
  const encoder = new TextEncoder();
  let at = 1;
  while (at < text.length) {
    const character = text[at] as string;
    if (character === quote) return { word: fromBytes(bytes), rest: text.slice(at + 1) };
    if (character === "\\" && at + 1 < text.length) {
      const used = quote === '"' ? escape(text.slice(at + 1), bytes) : escapedQuote(text, at, bytes);
      if (used > 0) {
        at += 1 + used;
        continue;
      }
    }
    const point = String.fromCodePoint(text.codePointAt(at) as number);
    bytes.push(...encoder.encode(point));
    at += point.length;
  }
  return null;
}

/** Takes what follows a backslash; the result is how many characters that was. */
function escape(text: string, bytes: number[]): number {
  const hex = /^x([0-9a-fA-F]{2})/.exec(text);
  if (hex) {
    bytes.push(parseInt(hex[1] as string, 16));
    return 3;
  }
  const point = String.fromCodePoint(text.codePointAt(0) as number);
  const code = ESCAPES[point];
  if (code !== undefined) bytes.push(code);
  else bytes.push(...new TextEncoder().encode(point));
  return point.length;
}

function escapedQuote(text: string, at: number, bytes: number[]): number {
  if (text[at + 1] !== "'") return 0;
  bytes.push(39);
  return 1;
}

function fromBytes(bytes: number[]): Name {
  const array = Uint8Array.from(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(array);
  } catch {
    return array;
  }
}

// Command, or command and subcommand, and what it does.
const DANGEROUS: Record<string, string> = {
  FLUSHALL: "deletes all keys of all databases",
  FLUSHDB: "deletes all keys of this database",
  SHUTDOWN: "stops the server",
  SWAPDB: "exchanges two databases for all clients",
  KEYS: "reads all keys at once, and other clients wait meanwhile; SCAN does not",
  DEBUG: "is for tests, and can stop or block the server",
  REPLICAOF: "can replace all data with another server's",
  SLAVEOF: "can replace all data with another server's",
  FAILOVER: "makes this server a replica",
  SAVE: "writes all data to disk, and other clients wait meanwhile; BGSAVE does not",
  RESTORE: "can replace a key",
  MIGRATE: "moves keys to another server",
  "CONFIG SET": "changes how the server works",
  "CONFIG REWRITE": "replaces the configuration file",
  "CONFIG RESETSTAT": "sets all statistics to zero",
  "SCRIPT FLUSH": "removes all scripts",
  "SCRIPT KILL": "stops the script that is running",
  "FUNCTION FLUSH": "deletes all functions",
  "FUNCTION DELETE": "deletes a library of functions",
  "FUNCTION RESTORE": "can replace functions",
  "FUNCTION KILL": "stops the function that is running",
  "CLIENT KILL": "closes connections of clients",
  "CLIENT PAUSE": "makes clients wait",
  "ACL SETUSER": "changes who may do what",
  "ACL DELUSER": "removes users",
  "ACL LOAD": "replaces all users",
  "SLOWLOG RESET": "removes the slow commands",
  "LATENCY RESET": "removes the latency events",
};

/** What is dangerous about a command, or null. */
export function danger(command: Name[]): string | null {
  const [first, second] = command.map((word) => (typeof word === "string" ? word.toUpperCase() : ""));
  if (first === undefined) return null;
  return DANGEROUS[first] ?? DANGEROUS[`${first} ${second ?? ""}`] ?? null;
}

/** Whether the line holds a secret, which the history must not keep. */
export function isSecret(command: Name[]): boolean {
  const text = command.map((word) => (typeof word === "string" ? word.toUpperCase() : ""));
  return text[0] === "AUTH" || text.includes("REQUIREPASS") || text.includes("MASTERAUTH") ||
      (text[0] === "ACL" && text[1] === "SETUSER") || (text[0] === "HELLO" && text.includes("AUTH"));
}

/** The names that begin with what was typed so far, while that is still the first word. */
export function completions(names: string[], line: string): string[] {
  const typed = line.trimStart();
  if (typed === "" || /\s/.test(typed)) return [];
  const upper = typed.toUpperCase();
  return names.filter((name) => name.startsWith(upper) && name !== upper);
}

/** Lines that were entered, the way a shell keeps them. */
export class History {
  private at: number;
  private draft = "";

  constructor(readonly lines: string[], private readonly capacity = 200) {
    this.at = lines.length;
  }

  add(line: string): void {
    if (this.lines[this.lines.length - 1] !== line) this.lines.push(line);
    if (this.lines.length > this.capacity) this.lines.shift();
    this.at = this.lines.length;
    this.draft = "";
  }

  /** The line before, or null at the first one. `current` is kept, to come back to it. */
  older(current: string): string | null {
    if (this.at === 0) return null;
    if (this.at === this.lines.length) this.draft = current;
    this.at -= 1;
    return this.lines[this.at] ?? null;
  }

  newer(): string | null {
    if (this.at >= this.lines.length) return null;
    this.at += 1;
    return this.at === this.lines.length ? this.draft : this.lines[this.at] ?? null;
  }
}
