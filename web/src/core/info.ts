// SPDX-License-Identifier: Apache-2.0
// Reads the reply of INFO, and what the page wants to know from it.

export class Info {
  private readonly fields = new Map<string, string>();

  constructor(text: string) {
    for (const line of text.split("\n")) {
      const colon = line.indexOf(":");
      if (colon > 0 && !line.startsWith("#")) {
        this.fields.set(line.slice(0, colon), line.slice(colon + 1).trim());
      }
    }
  }

  has(field: string): boolean {
    return this.fields.has(field);
  }

  text(field: string): string {
    return this.fields.get(field) ?? "";
  }

  number(field: string): number {
    const value = Number(this.fields.get(field));
    return Number.isFinite(value) ? value : 0;
  }

  /** The parts of a field such as db0:keys=3,expires=1. */
  parts(field: string): Map<string, string> {
    const pairs = this.text(field).split(",").map((part) => part.split("="));
    return new Map(pairs.map(([name, ...value]) => [name ?? "", value.join("=")]));
  }

  private matching(pattern: RegExp): [string, Map<string, string>][] {
    return [...this.fields.keys()].filter((field) => pattern.test(field))
        .map((field) => [field, this.parts(field)]);
  }

  /** The databases that have keys: number, keys, keys with a deadline. */
  databases(): { db: number; keys: number; expires: number }[] {
    return this.matching(/^db\d+$/).map(([field, parts]) => ({
      db: Number(field.slice(2)),
      keys: Number(parts.get("keys") ?? 0),
      expires: Number(parts.get("expires") ?? 0),
    }));
  }

  keys(): number {
    return this.databases().reduce((sum, database) => sum + database.keys, 0);
  }

  /** The replicas of a primary, as INFO lists them. */
  replicas(): { address: string; state: string; offset: number; lag: number }[] {
    return this.matching(/^slave\d+$/).map(([, parts]) => ({
      address: `${parts.get("ip") ?? "?"}:${parts.get("port") ?? "?"}`,
      state: parts.get("state") ?? "?",
      offset: Number(parts.get("offset") ?? 0),
      lag: Number(parts.get("lag") ?? 0),
    }));
  }

  /** What INFO COMMANDSTATS counts, most time first. */
  commands(): { name: string; calls: number; usec: number; failed: number }[] {
    return this.matching(/^cmdstat_/).map(([field, parts]) => ({
      name: field.slice("cmdstat_".length),
      calls: Number(parts.get("calls") ?? 0),
      usec: Number(parts.get("usec") ?? 0),
      failed: Number(parts.get("failed_calls") ?? 0),
    })).sort((one, other) => other.usec - one.usec);
  }
}
