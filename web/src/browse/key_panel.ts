// SPDX-License-Identifier: Apache-2.0
// One key: its facts, its value or members with their remaining time, and what can be done to them.
// Every change asks first.

import { type Command, Refused, run } from "../core/api";
import { countdown } from "../core/countdown";
import { askDuration, confirm, isDialogOpen } from "../core/dialog";
import { button, byId, h, setHidden, setText, table } from "../core/dom";
import * as format from "../core/format";
import { report, say } from "../core/messages";
import { serverNow, state } from "../core/state";
import { type Name, idOf, show } from "../core/values";
import {
  type Key, type Member, type MemberOptions, NOUN, deleteCommand, expireCommand, hasMemberTtl,
  persistCommand, readKey, readMembers, readString,
} from "./members";

const RECHECK_MS = 250;
const CHEAP_BYTES = 1 << 20;
const CHEAP_PAGES = 3;
const COLUMNS: Record<string, [string, string]> = {
  hash: ["Field", "Value"], set: ["Member", ""], zset: ["Member", "Score"],
  list: ["Index", "Item"], stream: ["Id", "Fields"],
};

export class KeyPanel {
  private name: Name | null = null;
  private key: Key | null = null;
  private members: Member[] = [];
  private next: string | null = null;
  private pages = 1;
  private order: MemberOptions["order"] = "stored";
  private timer: number | null = null;
  private turn = 0;
  private readonly title = byId("key-title");
  private readonly facts = h("dl", { class: "facts" });
  private readonly actions = h("div", { class: "actions" });
  private readonly content = h("div", { class: "scroll", tabindex: "0", role: "region",
                                        "aria-label": "Value" });
  private readonly foot = h("div", { class: "foot" });
  private readonly orderSelect = h("select", { class: "small", "aria-label": "Order of members" },
    h("option", { value: "stored" }, "As stored"),
    h("option", { value: "soonest" }, "Soonest to expire"));

  constructor(private readonly onChange: () => void) {
    byId("key").append(this.facts, this.actions, this.content, this.foot);
    byId("key").addEventListener("due", () => this.onDue());
    this.orderSelect.addEventListener("change", () => {
      this.order = this.orderSelect.value as MemberOptions["order"];
      this.pages = 1;
      void this.refresh();
    });
    this.draw();
  }

  async open(name: Name | null): Promise<void> {
    this.name = name;
    this.key = null;
    this.members = [];
    this.pages = 1;
    this.order = "stored";
    this.orderSelect.value = "stored";
    this.draw();
    if (name !== null) await this.refresh();
  }

  /** Reads the key again, with as many pages of members as are shown. */
  async refresh(isQuiet = false): Promise<void> {
    const name = this.name;
    if (name === null) return;
    this.turn += 1;
    const turn = this.turn;
    try {
      const key = await readKey(state.db, name);
      let members: Member[] = [];
      let next: string | null = "0";
      let value: Name | null = null;
      if (key?.type === "string") value = await readString(state.db, name);
      for (let page = 0; key && key.type !== "string" && page < this.pages && next !== null; page += 1) {
        const found = await readMembers(state.db, key, next, { order: this.order });
        members = members.concat(found.members);
        next = found.next;
      }
      if (turn !== this.turn) return;
      this.key = key;
      this.members = members;
      this.next = key && key.type !== "string" ? next : null;
      this.draw(value);
    } catch (error) {
      if (turn !== this.turn) return;
      if (!isQuiet) report(error);
      if (error instanceof Refused) this.showProblem(error.message);
    }
  }

  /** Now and then, for others may change the key too; not if that costs the server much. */
  async follow(): Promise<void> {
    const isCheap = (this.key?.size ?? 0) < CHEAP_BYTES && this.pages <= CHEAP_PAGES;
    if (this.key && isCheap && !isDialogOpen()) await this.refresh(true);
  }

  private showProblem(text: string): void {
    this.content.replaceChildren(h("p", { class: "error" }, text));
    this.foot.replaceChildren();
  }

  private onDue(): void {
    if (this.timer !== null) return;
    this.timer = window.setTimeout(() => {
      this.timer = null;
      void this.refresh();
    }, RECHECK_MS);
  }

  private draw(value: Name | null = null): void {
    const key = this.key;
    setText(this.title, this.name === null ? "No key selected" : show(this.name));
    this.title.classList.toggle("mono", this.name !== null);
    setHidden(this.facts, key === null);
    setHidden(this.actions, key === null);
    if (key === null) {
      const text = this.name === null ? "Choose a key from the list to see its members."
        : this.turn > 0 ? "This key does not exist: it has expired or was deleted." : "";
      this.content.replaceChildren(h("p", { class: "empty" }, text));
      this.foot.replaceChildren();
      return;
    }
    this.drawFacts(key);
    this.drawActions(key);
    if (key.type === "string") this.drawString(key, value ?? "");
    else this.drawMembers(key);
  }

  private drawFacts(key: Key): void {
    const fact = (label: string, content: Node | string) =>
      h("div", {}, h("dt", {}, label), h("dd", {}, content));
    this.facts.replaceChildren(
      fact("Type", key.type), fact("TTL", countdown(key.deadline)),
      fact("Length", key.length === null ? "–" : format.count(key.length)),
      fact("Size", key.size === null ? "–" : format.bytes(key.size)),
      fact("Encoding", key.encoding));
  }

  private drawActions(key: Key): void {
    const off = state.readOnly;
    this.actions.replaceChildren(
      button("Set TTL", () => void this.setTtl(null), { class: "small", disabled: off }),
      button("Remove TTL", () => void this.removeTtl(null),
             { class: "small", disabled: off || key.deadline === null }),
      button("Delete key", () => void this.remove(null),
             { class: "small danger", disabled: off }),
      button("Refresh", () => void this.refresh(), { class: "small" }));
    if (hasMemberTtl(key.type)) this.actions.append(this.orderSelect);
  }

  private drawString(key: Key, value: Name): void {
    this.content.replaceChildren(h("pre", { class: "value" },
      typeof value === "string" ? value : show(value)));
    const isCut = (key.length ?? 0) > 8192;
    this.foot.replaceChildren(isCut ? `The first 8 KiB of ${format.bytes(key.length ?? 0)}` : "");
  }

  private drawMembers(key: Key): void {
    const [first, second] = COLUMNS[key.type] ?? ["Member", ""];
    const withTtl = hasMemberTtl(key.type);
    const headings = [first, ...(second ? [second] : []), ...(withTtl ? ["TTL", "Actions"] : [])];
    const { element, body } = table(`Members of ${show(key.name)}`, headings, { class: "rows" });
    const focused = document.activeElement as HTMLElement | null;
    const focus = this.content.contains(focused)
      ? { id: focused?.closest("tr")?.dataset["id"], label: focused?.textContent } : null;
    if (second) element.tHead?.rows[0]?.cells[1]?.classList.add("text");
    body.append(...this.members.map((member) => this.rowOf(member, !!second, withTtl)));
    this.content.replaceChildren(this.members.length > 0 ? element
      : h("p", { class: "empty" }, this.order === "soonest" ? "No member has a TTL." : "No members."));
    if (focus?.id !== undefined) {
      const row = [...body.rows].find((other) => other.dataset["id"] === focus.id);
      [...(row?.querySelectorAll("button") ?? [])]
          .find((other) => other.textContent === focus.label)?.focus({ preventScroll: true });
    }
    this.foot.replaceChildren(
      h("span", {}, `${format.count(this.members.length)} of ${format.count(key.length ?? 0)} shown`));
    if (this.next !== null) {
      this.foot.append(button("More", () => { this.pages += 1; void this.refresh(); }));
    }
  }

  private rowOf(member: Member, hasValue: boolean, withTtl: boolean): HTMLTableRowElement {
    const name = show(member.name);
    const row = h("tr", { data: { id: idOf(member.name) } },
      h("td", { class: hasValue ? "mono short" : "mono grow", title: name }, name));
    if (hasValue) row.append(h("td", { class: "mono text grow", title: member.value.slice(0, 500) },
                               member.value.slice(0, 500)));
    if (!withTtl) return row;
    const off = state.readOnly;
    row.append(h("td", {}, countdown(member.deadline)), h("td", {}, h("span", { class: "rowactions" },
      button("Set TTL", () => void this.setTtl(member),
             { disabled: off, "aria-label": `Set TTL of ${name}` }),
      button("Remove TTL", () => void this.removeTtl(member),
             { disabled: off || member.deadline === null, "aria-label": `Remove TTL of ${name}` }),
      button("Delete", () => void this.remove(member),
             { class: "danger", disabled: off, "aria-label": `Delete ${name}` }))));
    return row;
  }

  private label(member: Member | null): string {
    const key = this.key as Key;
    if (member === null) return `key ${show(key.name)}`;
    return `${NOUN[key.type] ?? "member"} ${show(member.name)} of ${show(key.name)}`;
  }

  private async setTtl(member: Member | null): Promise<void> {
    const key = this.key;
    if (!key) return;
    const deadline = member ? member.deadline : key.deadline;
    const left = deadline === null ? null : deadline - serverNow();
    const ms = await askDuration(`Set the TTL of ${this.label(member)}`, left);
    if (ms === null) return;
    await this.change(expireCommand(key, member?.name ?? null, ms),
                      `${this.label(member)} expires in ${format.duration(ms)}`);
  }

  private async removeTtl(member: Member | null): Promise<void> {
    const key = this.key;
    if (!key) return;
    const yes = await confirm("Remove the TTL?", `The ${this.label(member)} will not expire.`,
                              "Remove TTL", false);
    if (yes) await this.change(persistCommand(key, member?.name ?? null),
                               `${this.label(member)} has no TTL`);
  }

  private async remove(member: Member | null): Promise<void> {
    const key = this.key;
    if (!key) return;
    const yes = await confirm(member ? `Delete this ${NOUN[key.type] ?? "member"}?` : "Delete this key?",
                              `The ${this.label(member)} will be deleted. This cannot be undone.`,
                              "Delete");
    if (yes) await this.change(deleteCommand(key, member?.name ?? null),
                               `${this.label(member)} is deleted`);
  }

  private async change(command: Command, done: string): Promise<void> {
    try {
      const [reply] = await run(state.db, [command]);
      if (reply && "error" in reply) throw new Refused(200, reply.error);
      say(done.charAt(0).toUpperCase() + done.slice(1));
    } catch (error) {
      report(error);
    }
    await this.refresh();
    this.onChange();
  }
}
