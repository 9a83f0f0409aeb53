// SPDX-License-Identifier: Apache-2.0
// The list of keys: search by pattern and type, in the order of time, size or name.

import { button, byId, h, setHidden, setText, table } from "../core/dom";
import { countdown } from "../core/countdown";
import * as format from "../core/format";
import { report } from "../core/messages";
import { state } from "../core/state";
import { type Name, idOf, show } from "../core/values";
import { NOUN } from "./members";
import { type Order, type Query, type Row, Search, fillIn } from "./search";

const TYPES = ["string", "hash", "set", "zset", "list", "stream"];
const RECHECK_MS = 250;

export class ListPanel {
  private search: Search | null = null;
  private busy = false;
  private stopped = false;
  private chosen = "";
  private range: { from: number; to: number } | null = null;
  private dueTimer: number | null = null;
  private readonly input = h("input", {
    id: "pattern", type: "search", placeholder: "Pattern, such as user:*", spellcheck: "false",
    autocomplete: "off", "aria-label": "Pattern of key names", "aria-keyshortcuts": "/",
  });
  private readonly type = h("select", { "aria-label": "Type" }, h("option", { value: "" }, "All types"),
                            ...TYPES.map((type) => h("option", { value: type }, type)));
  private readonly order = h("select", { "aria-label": "Order" },
    h("option", { value: "soonest" }, "Soonest to expire"),
    h("option", { value: "largest" }, "Largest"), h("option", { value: "name" }, "By name"));
  private readonly rows = table("Keys", ["Key", "Type", "TTL", "Size"], { class: "rows" });
  private readonly empty = h("p", { class: "empty" }, "Search to list keys.");
  private readonly byName = button("List by name", () => {
    this.order.value = "name";
    this.range = null;
    void this.start();
  });
  private readonly count = h("span", { role: "status" });
  private readonly moreButton = button("More", () => void this.more());
  private readonly stopButton = button("Stop", () => { this.stopped = true; });
  private readonly chip = h("div", { class: "chip" });

  constructor(private readonly onChoose: (name: Name | null) => void) {
    const form = h("form", { class: "search", role: "search" }, this.input, this.type, this.order,
                   h("button", { type: "submit", class: "primary" }, "Search"));
    form.addEventListener("submit", (event) => { event.preventDefault(); void this.start(); });
    this.type.addEventListener("change", () => void this.start());
    this.order.addEventListener("change", () => { this.range = null; void this.start(); });
    setHidden(this.chip, true);
    const region = h("div", { class: "scroll", tabindex: "0", role: "region",
                              "aria-label": "List of keys" }, this.empty, this.byName,
                     this.rows.element);
    byId("keys").append(form, this.chip, region,
                        h("div", { class: "foot" }, this.count, this.moreButton, this.stopButton));
    region.addEventListener("due", () => this.onDue());
    region.addEventListener("keydown", (event) => this.onKey(event));
    this.draw();
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  /** Lists the keys that expire in a time that was chosen on the horizon. */
  showRange(from: number, to: number): void {
    this.range = { from, to };
    this.order.value = "soonest";
    void this.start();
    byId("keys").scrollIntoView({ block: "start" });
    byId("keys").focus({ preventScroll: true });
  }

  private query(): Query {
    return {
      pattern: this.input.value, type: this.type.value, order: this.order.value as Order,
      from: this.range?.from ?? null, to: this.range?.to ?? null,
    };
  }

  async start(): Promise<void> {
    this.stopped = true;  // a search that is under way ends after its request
    this.search = new Search(state.db, this.query());
    this.busy = false;
    this.rows.body.replaceChildren();
    this.drawChip();
    await this.more();
  }

  private async more(): Promise<void> {
    const search = this.search;
    if (!search || this.busy) return;
    this.busy = true;
    this.stopped = false;
    this.draw();
    try {
      await search.more(() => {
        const goesOn = this.search === search && !this.stopped;
        if (goesOn) setText(this.count, `${format.count(search.examined)} keys examined …`);
        return goesOn;
      });
    } catch (error) {
      if (this.search === search) search.done = true;
      report(error);
    }
    if (this.search !== search) return;
    this.busy = false;
    this.draw();
  }

  /** After a key was changed or deleted by this page. */
  async recheck(): Promise<void> {
    const search = this.search;
    if (!search || this.busy) return;
    try {
      await fillIn(state.db, search.rows);
    } catch {
      return;  // the poll shows that the server is away
    }
    if (this.search !== search) return;
    search.rows = search.rows.filter((row) => row.type !== "none");
    this.draw();
  }

  /** Several rows may become due at the same moment: one request is enough. */
  private onDue(): void {
    if (this.dueTimer !== null) return;
    this.dueTimer = window.setTimeout(() => {
      this.dueTimer = null;
      void this.recheck();
    }, RECHECK_MS);
  }

  choose(name: Name | null): void {
    this.chosen = name === null ? "" : idOf(name);
    for (const row of this.rows.body.rows) this.markChosen(row);
    this.onChoose(name);
  }

  private markChosen(row: HTMLTableRowElement): void {
    const isChosen = row.dataset["id"] === this.chosen;
    row.classList.toggle("selected", isChosen);
    const name = row.querySelector("button");
    if (isChosen) name?.setAttribute("aria-current", "true");
    else name?.removeAttribute("aria-current");
  }

  private onKey(event: KeyboardEvent): void {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const names = [...this.rows.body.querySelectorAll<HTMLElement>("button.name")];
    const at = names.indexOf(document.activeElement as HTMLElement);
    const next = names[at + (event.key === "ArrowDown" ? 1 : -1)];
    if (at < 0 || !next) return;
    event.preventDefault();
    next.focus();
  }

  private draw(): void {
    const search = this.search;
    const rows = search?.rows ?? [];
    const focused = (document.activeElement as HTMLElement | null)?.closest("tr")?.dataset["id"];
    this.rows.body.replaceChildren(...rows.map((row) => this.rowOf(row)));
    if (focused !== undefined) {
      [...this.rows.body.rows].find((row) => row.dataset["id"] === focused)
          ?.querySelector("button")?.focus({ preventScroll: true });
    }
    setHidden(this.rows.element, rows.length === 0);
    setHidden(this.empty, rows.length > 0);
    setText(this.empty, this.busy ? "Searching …" : search ? this.nothing(search) : "");
    setHidden(this.byName, !search || this.busy || !hasKeysWithoutTtl(search));
    setHidden(this.moreButton, !search || search.done || this.busy);
    setHidden(this.stopButton, !this.busy);
    setText(this.count, search ? this.summary(search) : "");
  }

  private nothing(search: Search): string {
    if (!search.done) return "None of the keys examined so far matches.";
    const { order, pattern, type, from } = search.query;
    if (order !== "soonest") return "No key matches.";
    if (from !== null) {
      return "No key expires first in this time. Members that do belong to keys that are listed earlier.";
    }
    if (pattern !== "" || type !== "") return "No key that matches has a TTL, or a member with one.";
    if (search.total === 0) return "There is no key in this database.";
    return search.total === 1 ? "1 key, and it does not expire."
      : `${format.count(search.total ?? 0)} keys, and none expires.`;
  }

  private summary(search: Search): string {
    if (search.done && search.rows.length === 0) return "";
    const rows = search.rows.length === 1 ? "1 key" : `${format.count(search.rows.length)} keys`;
    if (search.query.order === "soonest") return search.done ? rows : `first ${rows}`;
    if (search.done) return rows;
    return `${rows} of the first ${format.count(search.examined)} or so examined`;
  }

  private rowOf(row: Row): HTMLTableRowElement {
    const text = show(row.name);
    const name = button(text, () => this.choose(row.name), { class: "name", title: text });
    const element = h("tr", { data: { id: idOf(row.name) } },
      h("td", { class: "grow" }, name), h("td", {}, h("span", { class: "type" }, row.type)),
      h("td", {}, ...timeLeft(row)),
      h("td", {}, row.size === null ? "–" : format.bytes(row.size)));
    this.markChosen(element);
    return element;
  }

  private drawChip(): void {
    setHidden(this.chip, this.range === null);
    if (!this.range) return;
    const { from, to } = this.range;
    this.chip.replaceChildren(
      `Expire from ${format.clock(from)} for ${format.duration(to - from)}`,
      button("×", () => { this.range = null; void this.start(); },
             { class: "small", "aria-label": "List all times" }));
  }
}

/** Whether a search by time found nothing though there are keys. */
function hasKeysWithoutTtl(search: Search): boolean {
  return search.done && search.rows.length === 0 && (search.total ?? 0) > 0;
}

/** The time of the key, or of the member that expires before it, with its name. */
function timeLeft(row: Row): (HTMLElement | string)[] {
  if (!row.member) return [countdown(row.deadline)];
  const name = row.member.name === null ? `a ${NOUN[row.type] ?? "member"}` : show(row.member.name);
  return [h("span", { class: "dim member", title: name }, name), " ", countdown(row.member.deadline)];
}
