// SPDX-License-Identifier: Apache-2.0
// The expiry feed: what has just expired, how late and why. It keeps the latest few hundred.

import { type Expired, Refused, expired } from "../core/api";
import { button, byId, h, setHidden, setText } from "../core/dom";
import * as format from "../core/format";
import { isName, show } from "../core/values";

const MOST_ROWS = 200;

export class FeedPanel {
  private since = 0;
  private seen = 0;
  private isPaused = false;
  private readonly rows = h("ul", { class: "feed" });
  private readonly empty = h("p", { class: "empty" }, "Nothing has expired since this page is open.");
  private readonly count = h("span", { class: "dim" });
  private readonly pause: HTMLButtonElement;

  constructor() {
    this.pause = button("Pause", () => this.toggle(), { class: "small", "aria-pressed": "false" });
    const clear = button("Clear", () => this.clear(), { class: "small" });
    byId("feed").querySelector(".head")?.append(this.count, this.pause, clear);
    byId("feed").append(h("div", { class: "scroll", tabindex: "0", role: "region",
                                   "aria-label": "What has expired" }, this.empty, this.rows));
  }

  /** Asks the server for what is new. */
  async poll(): Promise<void> {
    if (this.isPaused) return;
    const news = await expired(this.since).catch((error: unknown) => {
      if (!(error instanceof Refused)) throw error;
      setText(this.empty, `There is no feed: ${error.message}`);
      return { last: this.since, expired: [] };
    });
    if (news.last < this.since) this.since = 0;  // the server has started again
    else this.since = news.last;
    this.show(news.expired);
  }

  private show(entries: Expired[]): void {
    if (entries.length === 0) return;
    this.seen += entries.length;
    setHidden(this.empty, true);
    setText(this.count, `${format.count(this.seen)} seen`);
    this.rows.prepend(...entries.slice(-MOST_ROWS).reverse().map(rowOf));
    while (this.rows.children.length > MOST_ROWS) this.rows.lastElementChild?.remove();
  }

  private toggle(): void {
    this.isPaused = !this.isPaused;
    this.pause.setAttribute("aria-pressed", String(this.isPaused));
    setText(this.pause, this.isPaused ? "Go on" : "Pause");
  }

  private clear(): void {
    this.rows.replaceChildren();
    this.seen = 0;
    setText(this.count, "");
    setHidden(this.empty, false);
  }
}

function rowOf(entry: Expired): HTMLLIElement {
  const key = isName(entry.key) ? show(entry.key) : "?";
  const what = isName(entry.member) ? `${key} › ${show(entry.member)}` : key;
  const late = Math.max(0, entry.at - entry.deadline);
  return h("li", {},
    h("span", { class: "dim" }, format.clock(entry.at)),
    h("span", { class: "what", title: `db${entry.db} ${entry.type} ${what}` }, what),
    h("span", { class: "dim", title: `deadline ${format.dateTime(entry.deadline)}` },
      `${entry.how}, ${format.duration(late)} late`));
}
