// SPDX-License-Identifier: Apache-2.0
// The command prompt: a line with completion and history, and what the server replied.

import { run, valueOf } from "../core/api";
import { confirm } from "../core/dialog";
import { byId, h, setHidden, setText } from "../core/dom";
import { LoginNeeded } from "../core/api";
import { report } from "../core/messages";
import { state } from "../core/state";
import { type Name, toList } from "../core/values";
import { History, completions, danger, isSecret, words } from "./line";
import { type Docs, readDocs, render } from "./render";

const KEPT = "mayfly-history";
const MOST_SHOWN = 10;
const MOST_OUTPUT = 100;

export class PromptPanel {
  private names: string[] | null = null;
  private readonly docs = new Map<string, Docs | null>();
  private offered: string[] = [];
  private marked = -1;
  private readonly history = new History(stored());
  private readonly output = h("div", { class: "output", tabindex: "0", role: "log",
                                       "aria-label": "Replies" });
  private readonly input = h("input", {
    id: "command", type: "text", autocomplete: "off", autocapitalize: "off", spellcheck: "false",
    role: "combobox", "aria-expanded": "false", "aria-controls": "completions",
    "aria-autocomplete": "list", "aria-describedby": "command-hint", "aria-keyshortcuts": ":",
    placeholder: "Command, such as TTLSTATS",
  });
  private readonly list = h("ul", { class: "completions", id: "completions", role: "listbox",
                                    "aria-label": "Commands" });
  private readonly hint = h("p", { class: "hint", id: "command-hint" });
  private readonly label = h("label", { for: "command" }, "db0>");

  constructor(private readonly onSelect: (db: number) => void,
              private readonly onChange: () => void) {
    const form = h("form", { class: "line" }, this.label, this.input,
                   h("button", { type: "submit", class: "primary" }, "Run"), this.list);
    setHidden(this.list, true);
    byId("prompt").append(this.output, form, this.hint);
    form.addEventListener("submit", (event) => { event.preventDefault(); void this.enter(); });
    this.input.addEventListener("focus", () => void this.learn());
    this.input.addEventListener("input", () => this.offer());
    this.input.addEventListener("blur", () => setTimeout(() => this.close(), 150));
    this.input.addEventListener("keydown", (event) => this.onKey(event));
  }

  focus(): void {
    this.input.focus();
    byId("prompt").scrollIntoView({ block: "nearest" });
  }

  setDatabase(db: number): void {
    setText(this.label, `db${db}>`);
  }

  /** The names of all commands, asked for when the prompt is used for the first time. */
  private async learn(): Promise<void> {
    if (this.names) return;
    this.names = [];
    try {
      const list = toList(valueOf((await run(state.db, [["COMMAND", "LIST"]]))[0]));
      this.names = list.filter((name): name is string => typeof name === "string")
          .map((name) => name.toUpperCase()).sort();
      this.offer();
    } catch {
      this.names = null;
    }
  }

  private offer(): void {
    this.offered = completions(this.names ?? [], this.input.value).slice(0, MOST_SHOWN);
    this.marked = -1;
    this.list.replaceChildren(...this.offered.map((name, index) => {
      const item = h("li", { role: "option", id: `completion-${index}`, "aria-selected": "false" },
                     name);
      item.addEventListener("mousedown", (event) => { event.preventDefault(); this.take(index); });
      return item;
    }));
    const isOpen = this.offered.length > 0 && document.activeElement === this.input;
    setHidden(this.list, !isOpen);
    this.input.setAttribute("aria-expanded", String(isOpen));
    this.input.removeAttribute("aria-activedescendant");
    void this.showHint();
  }

  private close(): void {
    setHidden(this.list, true);
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
    this.offered = [];
    this.marked = -1;
  }

  private mark(index: number): void {
    this.marked = (index + this.offered.length) % this.offered.length;
    [...this.list.children].forEach((item, at) => {
      item.setAttribute("aria-selected", String(at === this.marked));
      if (at === this.marked) item.scrollIntoView({ block: "nearest" });
    });
    this.input.setAttribute("aria-activedescendant", `completion-${this.marked}`);
  }

  private take(index: number): void {
    this.input.value = `${this.offered[index] ?? ""} `;
    this.close();
    void this.showHint();
  }

  private onKey(event: KeyboardEvent): void {
    const isOpen = this.offered.length > 0;
    if (event.key === "Tab" && isOpen && !event.shiftKey) {
      event.preventDefault();
      this.take(Math.max(0, this.marked));
    } else if (event.key === "Enter" && isOpen && this.marked >= 0) {
      event.preventDefault();
      this.take(this.marked);
    } else if (event.key === "Escape" && isOpen) {
      event.stopPropagation();
      this.close();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      if (isOpen) this.mark(this.marked < 0 && step < 0 ? -1 : this.marked + step);
      else this.recall(step);
    }
  }

  private recall(step: number): void {
    const line = step < 0 ? this.history.older(this.input.value) : this.history.newer();
    if (line === null) return;
    this.input.value = line;
    this.input.setSelectionRange(line.length, line.length);
  }

  /** The syntax of the command that is being typed. */
  private async showHint(): Promise<void> {
    const first = this.input.value.trimStart().split(/\s/)[0]?.toUpperCase() ?? "";
    if (!this.names?.includes(first)) {
      setText(this.hint, "");
      return;
    }
    if (!this.docs.has(first)) {
      this.docs.set(first, null);
      try {
        const [reply] = await run(state.db, [["COMMAND", "DOCS", first]]);
        this.docs.set(first, readDocs(valueOf(reply), first));
      } catch {
        this.docs.delete(first);
      }
    }
    const docs = this.docs.get(first);
    if (this.input.value.trimStart().toUpperCase().startsWith(first)) {
      setText(this.hint, docs ? `${docs.syntax} – ${docs.summary}` : "");
    }
  }

  private async enter(): Promise<void> {
    const line = this.input.value.trim();
    const command = words(line);
    this.close();
    if (command === null) {
      setText(this.hint, "A quote is not closed, or text follows it without a space.");
      return;
    }
    if (command.length === 0) return;
    const reason = danger(command);
    if (reason !== null) {
      const name = command.slice(0, 2).map(String).join(" ");
      if (!await confirm(`Run ${name}?`, `${line}: this ${reason}.`, "Run")) return;
    }
    this.input.value = "";
    setText(this.hint, "");
    if (!isSecret(command)) {
      this.history.add(line);
      store(this.history.lines);
    }
    await this.execute(line, command);
  }

  private async execute(line: string, command: Name[]): Promise<void> {
    if (typeof command[0] === "string" && command[0].toUpperCase() === "SELECT") {
      const db = Number(command[1]);
      const isGood = command.length === 2 && Number.isInteger(db) && db >= 0;
      this.print(line, isGood ? "OK" : "(error) ERR write SELECT and the number of a database");
      if (isGood) this.onSelect(db);
      return;
    }
    try {
      const [reply] = await run(state.db, [command]);
      const text = !reply ? "(no reply)" : "error" in reply ? `(error) ${reply.error}`
        : render(reply.ok);
      this.print(isSecret(command) ? `${String(command[0])} …` : line, text);
      this.onChange();
    } catch (error) {
      if (error instanceof LoginNeeded) report(error);
      else this.print(line, `(failed) ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  private print(line: string, text: string): void {
    const isError = /^\((error|failed)\)/.test(text);
    this.output.append(h("div", { class: "asked" }, `${this.label.textContent ?? ""} ${line}`),
                       h("pre", isError ? { class: "error" } : {}, text));
    while (this.output.children.length > 2 * MOST_OUTPUT) this.output.firstElementChild?.remove();
    this.output.scrollTop = this.output.scrollHeight;
  }
}

/** Lines of this tab; another tab or visitor does not see them. */
function stored(): string[] {
  try {
    const lines: unknown = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
    return Array.isArray(lines) ? lines.filter((line) => typeof line === "string") : [];
  } catch {
    return [];
  }
}

function store(lines: string[]): void {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(lines));
  } catch {
    // The browser allows no storage: the history lasts as long as the page.
  }
}
