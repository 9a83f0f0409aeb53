// SPDX-License-Identifier: Apache-2.0
// The charts of the last ten minutes: what expired and why, commands, memory.

import { LineChart } from "../core/chart";
import { byId } from "../core/dom";
import * as format from "../core/format";
import { Series } from "../core/series";
import type { Panel, Sample } from "../core/state";

const SAMPLES = 600;  // ten minutes
const GAP_S = 4;      // the page was hidden, or the server away: no line is drawn across

class Rolling implements Panel {
  private last = 0;

  constructor(private readonly series: Series, private readonly chart: LineChart,
              private readonly read: (sample: Sample) => (number | null)[]) {}

  update(sample: Sample): void {
    const seconds = sample.ms / 1000;
    if (seconds <= this.last) return;
    if (this.last > 0 && seconds - this.last > GAP_S) this.series.add(this.last + 1, []);
    this.last = seconds;
    this.series.add(seconds, this.read(sample));
    this.chart.draw();
  }
}

export function expiredPanel(): Panel {
  const series = new Series(3, SAMPLES);
  const chart = new LineChart(byId("expired"), "Expired per second, by cause", [
    { label: "Sweep", colour: "c1" }, { label: "Access", colour: "c2" },
    { label: "Past", colour: "c3" },
  ], series, format.rate);
  return new Rolling(series, chart, ({ rates }) => (rates
    ? [rates["sweep"] ?? 0, rates["access"] ?? 0, rates["past"] ?? 0] : []));
}

export function commandsPanel(): Panel {
  const series = new Series(1, SAMPLES);
  const chart = new LineChart(byId("commands"), "Commands per second", [
    { label: "Commands", colour: "c4" },
  ], series, format.rate);
  return new Rolling(series, chart, ({ rates }) => (rates ? [rates["commands"] ?? 0] : []));
}

export function memoryPanel(): Panel {
  const series = new Series(2, SAMPLES);
  const chart = new LineChart(byId("memory"), "Memory", [
    { label: "Used", colour: "c1" }, { label: "Resident", colour: "c4" },
  ], series, format.bytes);
  return new Rolling(series, chart, ({ info }) =>
    [info.number("used_memory"), info.number("used_memory_rss")]);
}
