// SPDX-License-Identifier: Apache-2.0
// Charts by uPlot, in the colours of the page. Each has a legend in HTML, a short text for screen
// readers, and its numbers as a table, which is filled only while it is open.

import uPlot from "uplot";
import { fillRows, h, setText, table } from "./dom";
import { bytes, clock, exactBytes } from "./format";
import type { Series } from "./series";

const AXIS_FONT = "12px system-ui, sans-serif";
const DAY_S = 86_400;

const charts = new Set<uPlot>();

export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Draws all charts again, in the colours of the theme that was chosen. */
export function recolour(): void {
  charts.forEach((chart) => chart.redraw(false, true));
}

/** Times on an axis: as long as the distance between two of them needs. */
export function timeTicks(splits: number[], step: number): string[] {
  return splits.map((seconds) => {
    const date = new Date(seconds * 1000);
    if (step >= DAY_S) {
      return date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
    }
    const time = date.toLocaleTimeString("en-GB");
    return step >= 60 ? time.slice(0, 5) : time;
  });
}

export function timeAxis(): uPlot.Axis {
  return {
    stroke: () => colour("--dim"), font: AXIS_FONT, size: 26, gap: 4, space: 74,
    grid: { stroke: () => colour("--grid"), width: 1 },
    ticks: { stroke: () => colour("--grid"), width: 1, size: 4 },
    values: (_chart, splits, _axis, _space, step) => timeTicks(splits, step),
  };
}

export function valueAxis(format: (value: number) => string, more: uPlot.Axis = {}): uPlot.Axis {
  return {
    stroke: () => colour("--dim"), font: AXIS_FONT, size: 58, gap: 4,
    grid: { stroke: () => colour("--grid"), width: 1 }, ticks: { show: false },
    values: (_chart, splits) => splits.map((value) => format(value)),
    ...more,
  };
}

// An axis of bytes has its marks at powers of two, which are short in KiB and MiB.
export const BYTE_STEPS = Array.from({ length: 50 }, (_, power) => 2 ** power);

export function byteAxis(more: uPlot.Axis = {}): uPlot.Axis {
  return valueAxis(exactBytes, { incrs: BYTE_STEPS, ...more });
}

/** From zero to a little above the highest value. */
export function fromZero(_chart: uPlot, _low: number | null, high: number | null): uPlot.Range.MinMax {
  return [0, high && high > 0 ? high * 1.08 : 1];
}

const SHORTEST_S = 120;

/** All samples, but at least two minutes, so that the first ones do not fill the whole chart. */
function lastMinutes(_chart: uPlot, low: number | null, high: number | null): uPlot.Range.MinMax {
  const end = high ?? Date.now() / 1000;
  return [Math.min(low ?? end, end - SHORTEST_S), end];
}

/** A uPlot chart that is as wide as its element. */
export function plot(host: HTMLElement, options: Omit<uPlot.Options, "width">,
                     data: uPlot.AlignedData): uPlot {
  const chart = new uPlot({ ...options, width: Math.max(120, host.clientWidth) }, data, host);
  charts.add(chart);
  new ResizeObserver(() => {
    const width = host.clientWidth;
    if (width > 0 && width !== chart.width) chart.setSize({ width, height: options.height });
  }).observe(host);
  return chart;
}

export interface Line {
  label: string;
  colour: string;  // c1 to c4
}

/** Lines over the last minutes. */
export class LineChart {
  private readonly chart: uPlot;
  private readonly values: HTMLElement[];
  private readonly plotHost: HTMLElement;
  private readonly details: HTMLDetailsElement;
  private readonly rows: HTMLTableSectionElement;

  constructor(host: HTMLElement, private readonly title: string, private readonly lines: Line[],
              private readonly series: Series, private readonly format: (value: number) => string,
              height = 132) {
    this.values = lines.map(() => h("b", {}, "–"));
    const legend = h("ul", { class: "legend" }, ...lines.map((line, index) =>
      h("li", {}, h("span", { class: `swatch ${line.colour}` }), line.label,
        this.values[index] as HTMLElement)));
    this.plotHost = h("div", { class: "plot", role: "img", "aria-label": title });
    const data = table(`${title}: the latest samples`, ["Time", ...lines.map((line) => line.label)]);
    this.rows = data.body;
    this.details = h("details", { class: "data" }, h("summary", {}, "Numbers"),
                     h("div", { class: "scroll", tabindex: "0", role: "region",
                                "aria-label": `${title}: numbers` }, data.element));
    this.details.addEventListener("toggle", () => this.fillTable());
    host.append(legend, this.plotHost, this.details);
    this.chart = plot(this.plotHost, {
      height, legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
      scales: { x: { time: true, range: lastMinutes }, y: { range: fromZero } },
      axes: [timeAxis(), format === bytes ? byteAxis() : valueAxis(format)],
      series: [{}, ...lines.map((line) => ({
        label: line.label, width: 1.6, points: { show: false },
        stroke: () => colour(`--${line.colour}`),
        ...(lines.length === 1 ? { fill: () => `${colour(`--${line.colour}`)}22` } : {}),
      }))],
      hooks: { setCursor: [() => this.showValues()] },
    }, series.data() as uPlot.AlignedData);
  }

  draw(): void {
    this.chart.setData(this.series.data() as uPlot.AlignedData);
    this.showValues();
    if (this.details.open) this.fillTable();
  }

  private showValues(): void {
    const index = this.chart?.cursor.idx ?? this.series.length - 1;
    const data = this.series.data();
    this.values.forEach((element, line) => {
      const value = data[line + 1]?.[index];
      setText(element, typeof value === "number" ? this.format(value) : "–");
    });
    const latest = this.series.latest(1)[0];
    if (!latest) return;
    const parts = this.lines.map((line, at) => {
      const value = latest.values[at];
      return `${line.label} ${typeof value === "number" ? this.format(value) : "unknown"}`;
    });
    this.plotHost.setAttribute("aria-label", `${this.title}: ${parts.join(", ")}`);
  }

  private fillTable(): void {
    if (!this.details.open) return;
    fillRows(this.rows, this.series.latest(30).map(({ seconds, values }) =>
      [clock(seconds * 1000), ...values.map((value) => (value === null ? "–" : this.format(value)))]));
  }
}
