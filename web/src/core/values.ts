// SPDX-License-Identifier: Apache-2.0
// The values of replies. JSON has neither bytes nor 64-bit integers, so the server marks both:
// {"$base64": "..."} and {"$int": "..."}; a map whose keys are not text is {"$map": [[k, v], ...]}.
// decode() turns that into Value, encode() turns an argument into JSON. Nothing is lost on the way.

export type Name = string | Uint8Array;
export type Value = null | boolean | number | bigint | Name | Value[] | ValueMap;

/** A map in the order of the reply. */
export class ValueMap {
  constructor(readonly entries: [Value, Value][]) {}

  get(name: string): Value | undefined {
    return this.entries.find(([key]) => key === name)?.[1];
  }
}

export function decode(json: unknown): Value {
  if (json === null || json === undefined) return null;
  if (typeof json === "string" || typeof json === "number" || typeof json === "boolean") {
    return json;
  }
  if (Array.isArray(json)) return json.map(decode);
  const object = json as Record<string, unknown>;
  const keys = Object.keys(object);
  if (keys.length === 1) {
    const key = keys[0] as string;
    const inner = object[key];
    if (key === "$base64" && typeof inner === "string") return fromBase64(inner);
    if (key === "$int" && typeof inner === "string") return BigInt(inner);
    if (key === "$map" && Array.isArray(inner)) {
      return new ValueMap((inner as [unknown, unknown][]).map(([k, v]) => [decode(k), decode(v)]));
    }
  }
  return new ValueMap(keys.map((key) => [key, decode(object[key])]));
}

export type Argument = string | number | Uint8Array;

export function encode(argument: Argument): unknown {
  return argument instanceof Uint8Array ? { $base64: toBase64(argument) } : String(argument);
}

function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** Two names have the same id if and only if their bytes are the same. */
export function idOf(name: Name): string {
  return typeof name === "string" ? `t:${name}` : `b:${toBase64(name)}`;
}

export function isName(value: Value | undefined): value is Name {
  return typeof value === "string" || value instanceof Uint8Array;
}

// Controls, and marks that change the direction or the look of the text around them.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;
const SHORT: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** A name as one line of text, in which every character can be seen. */
export function show(name: Name): string {
  if (name instanceof Uint8Array) return Array.from(name, showByte).join("");
  if (name === "") return '""';
  return name.replace(HIDDEN, (found) => {
    const code = found.codePointAt(0) as number;
    if (SHORT[found]) return SHORT[found];
    const hex = code.toString(16);
    return code < 256 ? `\\x${hex.padStart(2, "0")}` : `\\u${hex.padStart(4, "0")}`;
  });
}

function showByte(byte: number): string {
  const isPrintable = byte >= 0x20 && byte < 0x7f && byte !== 0x5c;
  return isPrintable ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, "0")}`;
}

/** A number, where the loss of digits beyond 2^53 does not matter: for a chart, say. */
export function toNumber(value: Value | undefined, otherwise = 0): number {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  if (typeof value === "string" && value !== "" && Number.isFinite(Number(value))) {
    return Number(value);
  }
  return otherwise;
}

export function toList(value: Value | undefined): Value[] {
  return Array.isArray(value) ? value : [];
}

/** A map, also from a flat list of keys and values, as RESP2 writes it. */
export function toMap(value: Value | undefined): ValueMap {
  if (value instanceof ValueMap) return value;
  const list = toList(value);
  const entries: [Value, Value][] = [];
  for (let at = 0; at + 1 < list.length; at += 2) {
    entries.push([list[at] as Value, list[at + 1] as Value]);
  }
  return new ValueMap(entries);
}
