// SPDX-License-Identifier: Apache-2.0
// Samples of the last minutes, for the charts, and rates from counters that only grow.

/** A fixed number of samples, each with a time and one value for each line. Old ones go. */
export class Series {
  private readonly times: number[] = [];
  private readonly lines: (number | null)[][];

  constructor(lines: number, private readonly capacity: number) {
    this.lines = Array.from({ length: lines }, () => []);
  }

  /** `seconds` is the time of the sample; null is a gap. */
  add(seconds: number, values: (number | null)[]): void {
    this.times.push(seconds);
    this.lines.forEach((line, index) => line.push(values[index] ?? null));
    if (this.times.length > this.capacity) {
      this.times.shift();
      this.lines.forEach((line) => line.shift());
    }
  }

  clear(): void {
    this.times.length = 0;
    this.lines.forEach((line) => { line.length = 0; });
  }

  get length(): number {
    return this.times.length;
  }

  /** Times and lines, in the form that uPlot takes. */
  data(): [number[], ...(number | null)[][]] {
    return [this.times, ...this.lines];
  }

  /** The latest samples, newest first: time and values. */
  latest(most: number): { seconds: number; values: (number | null)[] }[] {
    const found = [];
    for (let at = this.times.length - 1; at >= 0 && found.length < most; at -= 1) {
      found.push({ seconds: this.times[at] as number,
                   values: this.lines.map((line) => line[at] ?? null) });
    }
    return found;
  }
}

/** The growth of counters per second. A counter that went back (a restart) gives null once. */
export class Rates {
  private last: { ms: number; counters: Record<string, number> } | null = null;

  next(ms: number, counters: Record<string, number>): Record<string, number> | null {
    const last = this.last;
    this.last = { ms, counters };
    if (!last || ms <= last.ms) return null;
    const seconds = (ms - last.ms) / 1000;
    const rates: Record<string, number> = {};
    for (const [name, value] of Object.entries(counters)) {
      const before = last.counters[name] ?? 0;
      if (value < before) return null;
      rates[name] = (value - before) / seconds;
    }
    return rates;
  }

  forget(): void {
    this.last = null;
  }
}
