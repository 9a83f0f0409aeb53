// SPDX-License-Identifier: Apache-2.0
// The expiry horizon: what expires when, as bars, and the memory in use then, as a line. Buttons
// choose a range; dragging, the wheel with Ctrl and the keyboard zoom and move; a click on a bar
// lists the keys behind it.

import uPlot from "uplot";
import { BYTE_STEPS, byteAxis, colour, fromZero, plot, timeAxis, valueAxis } from "../core/chart";
import type { Command } from "../core/api";
import { button, byId, fillRows, h, setHidden, setText, table } from "../core/dom";
import * as format from "../core/format";
import {
  RANGES, SHORTEST_MS, type Slot, type Window, edges, fit, pan, slotAt, slotWidth, slots, total,
  zoom,
} from "../core/horizon";
import { type Panel, type Sample, serverNow } from "../core/state";

type Unit = "entries" | "bytes";
const HEIGHT = 252;
const CLICK_PX = 4;
// There is no half entry.
const COUNT_STEPS = Array.from({ length: 13 }, (_, power) => 10 ** power)
    .flatMap((step) => [step, 2 * step, 5 * step]);

export class HorizonPanel implements Panel {
  private window: Window = { start: 0, length: 60 * 60 * 1000 };
  private unit: Unit = "entries";
  private slots: Slot[] = [];
  private now = 0;
  private askedAt = 0;
  private readonly chart: uPlot;
  private readonly host: HTMLElement;
  private readonly readout = h("span");
  private readonly listKeys: HTMLButtonElement;
  private readonly rangeButtons: HTMLButtonElement[];
  private readonly unitButtons: HTMLButtonElement[];
  private readonly details: HTMLDetailsElement;
  private readonly rows: HTMLTableSectionElement;
  private chosen: Slot | null = null;

  /** `onChange` asks for a poll; `onSlot` shows the keys that expire in a slot. */
  constructor(private readonly onChange: () => void,
              private readonly onSlot: (from: number, to: number) => void) {
    this.rangeButtons = RANGES.map((range) => button(range.label, () => this.show(
      { start: 0, length: range.ms }), { title: `The next ${range.name}` }));
    this.unitButtons = (["entries", "bytes"] as Unit[]).map((unit) =>
      button(unit === "entries" ? "Entries" : "Bytes", () => this.choose(unit)));
    this.listKeys = button("List these keys", () => this.list(), { class: "small" });
    this.host = h("div", { class: "plot", role: "img", tabindex: "0",
                           "aria-label": "Expiry horizon",
                           "aria-keyshortcuts": "+ - ArrowLeft ArrowRight Home" });
    const data = table("Expiry horizon: what expires when",
                       ["From", "In", "Entries", "Bytes", "Memory then"]);
    this.rows = data.body;
    this.details = h("details", { class: "data" }, h("summary", {}, "Numbers"),
                     h("div", { class: "scroll", tabindex: "0", role: "region",
                                "aria-label": "Expiry horizon: numbers" }, data.element));
    this.details.addEventListener("toggle", () => this.fillTable());
    this.build();
    this.chart = this.makeChart();
    this.listen();
    this.mark();
  }

  /** What to ask of the server at this poll. A long range changes little in a second. */
  command(): Command {
    const now = Math.round(serverNow());
    const period = Math.min(5000, Math.max(1000, this.window.length / 3600));
    if (now - this.askedAt < period - 100) return ["TTLSTATS"];
    this.askedAt = now;
    return ["TTLSTATS", "FORECAST", ...edges(this.window, now).map(String)];
  }

  update({ stats }: Sample): void {
    if (!stats) return;
    this.now = stats.now;
    if (stats.forecast.length > 1) this.slots = slots(stats.forecast);
    this.draw();
  }

  private build(): void {
    const section = byId("horizon");
    const legend = h("ul", { class: "legend" },
      h("li", {}, h("span", { class: "swatch c1" }), "Expires"),
      h("li", {}, h("span", { class: "swatch c2" }), "Memory in use then"));
    section.querySelector(".head")?.append(
      legend,
      h("div", { class: "segments", role: "group", "aria-label": "Unit" }, ...this.unitButtons),
      h("div", { class: "segments", role: "group", "aria-label": "Range" }, ...this.rangeButtons));
    section.append(this.host, h("div", { class: "readout" }, this.readout, this.listKeys),
                   this.details);
  }

  private makeChart(): uPlot {
    const bars = uPlot.paths.bars?.({ size: [0.86, 60], align: 0, radius: 0.12 });
    return plot(this.host, {
      height: HEIGHT, legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
      scales: {
        x: { time: true, range: () => this.range() },
        y: { range: fromZero }, memory: { range: fromZero },
      },
      axes: [
        timeAxis(),
        valueAxis((value) => (this.unit === "entries" ? format.shortCount(value)
                                                      : format.exactBytes(value)),
                  { incrs: () => (this.unit === "entries" ? COUNT_STEPS : BYTE_STEPS) }),
        byteAxis({ side: 1, scale: "memory", grid: { show: false }, size: 66 }),
      ],
      series: [
        {},
        { label: "Expires", fill: () => colour("--bar"), width: 0, points: { show: false },
          ...(bars ? { paths: bars } : {}) },
        { label: "Memory", scale: "memory", stroke: () => colour("--c2"), width: 2,
          points: { show: false } },
      ],
      hooks: {
        setSelect: [(chart) => this.select(chart)],
        setCursor: [() => this.describe()],
      },
    }, [[], [], []]);
  }

  private range(): uPlot.Range.MinMax {
    const from = (this.now || serverNow()) + this.window.start;
    return [from / 1000, (from + this.window.length) / 1000];
  }

  private listen(): void {
    let down = 0;
    this.host.addEventListener("pointerdown", (event) => { down = event.clientX; });
    this.host.addEventListener("click", (event) => {
      if (Math.abs(event.clientX - down) > CLICK_PX) return;
      const left = this.chart.cursor.left ?? -1;
      if (left < 0) return;
      this.chosen = slotAt(this.slots, this.chart.posToVal(left, "x") * 1000);
      this.describe();
    });
    this.host.addEventListener("dblclick", () => this.show(zoom(this.window, 4)));
    this.host.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;  // a wheel alone scrolls the page
      event.preventDefault();
      const left = this.chart.cursor.left ?? 0;
      const at = this.chart.posToVal(left, "x") * 1000 - this.now;
      this.show(zoom(this.window, event.deltaY > 0 ? 1.5 : 1 / 1.5, at));
    }, { passive: false });
    this.host.addEventListener("keydown", (event) => this.onKey(event));
  }

  private onKey(event: KeyboardEvent): void {
    const next: Record<string, () => Window> = {
      "+": () => zoom(this.window, 0.5), "=": () => zoom(this.window, 0.5),
      "-": () => zoom(this.window, 2), ArrowLeft: () => pan(this.window, -0.25),
      ArrowRight: () => pan(this.window, 0.25),
      Home: () => ({ start: 0, length: this.window.length }),
    };
    const action = next[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.show(action());
  }

  /** A drag over the chart chooses a part of it. */
  private select(chart: uPlot): void {
    const { left, width } = chart.select;
    if (width <= CLICK_PX) return;
    const from = chart.posToVal(left, "x") * 1000 - this.now;
    const to = chart.posToVal(left + width, "x") * 1000 - this.now;
    chart.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    this.show({ start: from, length: Math.max(SHORTEST_MS, to - from) });
  }

  private show(next: Window): void {
    this.window = fit(next);
    this.chosen = null;
    this.askedAt = 0;
    this.mark();
    this.onChange();
  }

  private choose(unit: Unit): void {
    this.unit = unit;
    this.mark();
    this.draw();
  }

  private mark(): void {
    RANGES.forEach((range, index) => this.rangeButtons[index]?.setAttribute("aria-pressed",
      String(this.window.start === 0 && this.window.length === range.ms)));
    this.unitButtons.forEach((element, index) => element.setAttribute("aria-pressed",
      String((index === 0) === (this.unit === "entries"))));
  }

  private draw(): void {
    const width = slotWidth(this.window.length);
    const middle = (slot: Slot) => (Math.floor(slot.from / width) + 0.5) * width / 1000;
    this.chart.setData([
      this.slots.map(middle),
      this.slots.map((slot) => slot[this.unit]),
      this.slots.map((slot) => slot.memory),
    ]);
    this.describe();
    if (this.details.open) this.fillTable();
  }

  /** Says in words what is under the cursor, or what was chosen, or the sum. */
  private describe(): void {
    if (!this.chart) return;
    const left = this.chart.cursor.left ?? -1;
    const under = left < 0 ? null : slotAt(this.slots, this.chart.posToVal(left, "x") * 1000);
    const slot = under ?? this.chosen;
    setHidden(this.listKeys, !this.chosen || this.chosen.entries === 0);
    if (slot) {
      setText(this.readout, `${format.dateTime(slot.from).slice(0, 19)}, in ` +
        `${format.duration(Math.max(0, slot.from - this.now))}, for ` +
        `${format.duration(slot.to - slot.from)}: ${format.count(slot.entries)} entries, ` +
        `${format.bytes(slot.bytes)}; memory then ${format.bytes(slot.memory)}`);
      return;
    }
    const sum = total(this.slots);
    const text = `${format.count(sum.entries)} entries (${format.bytes(sum.bytes)}) expire ` +
      this.words();
    setText(this.readout, `${text}. Drag to zoom, click a bar for its keys.`);
    this.host.setAttribute("aria-label", `Expiry horizon: ${text}`);
  }

  private words(): string {
    const length = format.duration(this.window.length);
    return this.window.start === 0 ? `in the next ${length}`
      : `in ${length}, beginning in ${format.duration(this.window.start)}`;
  }

  private list(): void {
    if (this.chosen) this.onSlot(this.chosen.from, this.chosen.to);
  }

  private fillTable(): void {
    if (!this.details.open) return;
    fillRows(this.rows, this.slots.map((slot) => [
      format.dateTime(slot.from).slice(0, 19),
      format.duration(Math.max(0, slot.from - this.now)), format.count(slot.entries),
      format.bytes(slot.bytes), format.bytes(slot.memory),
    ]));
  }
}
