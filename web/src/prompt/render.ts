// SPDX-License-Identifier: Apache-2.0
// Replies as text, in the form that users of redis-cli know; and the syntax of a command, from
// what COMMAND DOCS says about its arguments.

import { type Value, ValueMap, isName, show, toList, toMap } from "../core/values";

const MOST_CHARACTERS = 100_000;

export function render(value: Value): string {
  const text = nested(value, "");
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}\n… (cut)` : text;
}

function nested(value: Value, indent: string): string {
  if (value === null) return "(nil)";
  if (typeof value === "number") {
    return Number.isInteger(value) ? `(integer) ${value}` : `(double) ${value}`;
  }
  if (typeof value === "bigint") return `(integer) ${value}`;
  if (typeof value === "boolean") return `(${value})`;
  if (isName(value)) return typeof value === "string" ? quoted(value) : `"${show(value)}"`;
  if (value instanceof ValueMap) {
    return items(value.entries.map(([key, inner]) => (at: string) =>
      `${nested(key, at)} => ${nested(inner, `${at}   `)}`), indent, "#", "(empty map)");
  }
  return items(value.map((inner) => (at: string) => nested(inner, at)), indent, ")", "(empty array)");
}

function items(all: ((indent: string) => string)[], indent: string, mark: string,
               empty: string): string {
  if (all.length === 0) return empty;
  const width = String(all.length).length;
  const inner = indent + " ".repeat(width + 2);
  return all.map((one, index) => {
    const number = `${String(index + 1).padStart(width)}${mark} `;
    return `${index === 0 ? "" : indent}${number}${one(inner)}`;
  }).join("\n");
}

/** Text of several lines, such as INFO, is shown as it is. */
function quoted(text: string): string {
  if (text.includes("\n")) return text.replace(/\r\n/g, "\n").replace(/[^\n]+/g, (line) => show(line));
  return `"${text === "" ? "" : show(text).replace(/"/g, '\\"')}"`;
}

export interface Docs {
  summary: string;
  syntax: string;
}

/** The entry of one command in the reply of COMMAND DOCS; null if there is none. */
export function readDocs(reply: Value, name: string): Docs | null {
  const entry = toMap(reply).entries.find(([key]) =>
    typeof key === "string" && key.toUpperCase() === name);
  if (!entry) return null;
  const docs = toMap(entry[1]);
  const summary = docs.get("summary");
  const parts = toList(docs.get("arguments")).map(argument);
  return { summary: isName(summary ?? null) ? show(summary as string) : "",
           syntax: [name, ...parts].join(" ") };
}

function argument(value: Value): string {
  const map = toMap(value);
  const word = (name: string) => {
    const found = map.get(name);
    return typeof found === "string" ? found : "";
  };
  const flags = toList(map.get("flags")).map(String);
  const inner = toList(map.get("arguments")).map(argument);
  const type = word("type");
  let text = word("display_text") || word("name");
  if (type === "oneof") text = inner.join(" | ");
  if (type === "block") text = inner.join(" ");
  if (type === "pure-token") text = "";
  const token = word("token");
  if (token !== "") text = text === "" ? token : `${token} ${text}`;
  if (flags.includes("multiple")) text = `${text} [${text} ...]`;
  if (type === "oneof" && !flags.includes("optional") && inner.length > 1) text = `<${text}>`;
  return flags.includes("optional") ? `[${text}]` : text;
}
