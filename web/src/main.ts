// SPDX-License-Identifier: Apache-2.0
// Starts the page: asks for the session, shows the login or the console, and polls.

import { ListPanel } from "./browse/list_panel";
import { KeyPanel } from "./browse/key_panel";
import * as api from "./core/api";
import { startCountdowns } from "./core/countdown";
import { byId, h, setHidden, setText } from "./core/dom";
import * as format from "./core/format";
import { Info } from "./core/info";
import { report, whenLoginIsNeeded } from "./core/messages";
import { Poller, browserTimers } from "./core/poller";
import { Rates } from "./core/series";
import { startShortcuts } from "./core/shortcuts";
import { type Panel, type Sample, state } from "./core/state";
import { startTheme, toggleTheme } from "./core/theme";
import { counters } from "./core/counters";
import { readTtlStats } from "./core/ttlstats";
import { FeedPanel } from "./panels/feed";
import { HorizonPanel } from "./panels/horizon";
import { commandsPanel, expiredPanel, memoryPanel } from "./panels/rates";
import { SlowPanel, duePanel, latenessPanel, replicationPanel } from "./panels/tables";
import { tiles } from "./panels/tiles";
import { PromptPanel } from "./prompt/prompt_panel";

const PERIOD_MS = 1000;
const SLOW_EVERY = 5;  // polls
const SECTIONS = ["server", "clients", "memory", "persistence", "stats", "expiry", "replication",
                  "keyspace"];

class Console {
  private readonly rates = new Rates();
  private readonly horizon = new HorizonPanel(() => this.poller.now(),
                                              (from, to) => this.list.showRange(from, to));
  private readonly panels: Panel[] = [
    tiles(), this.horizon, duePanel(), expiredPanel(), commandsPanel(), memoryPanel(),
    latenessPanel(), replicationPanel(),
  ];
  private readonly slow = new SlowPanel();
  private readonly feed = new FeedPanel();
  private readonly key = new KeyPanel(() => { void this.list.recheck(); this.poller.now(); });
  private readonly list = new ListPanel((name) => void this.key.open(name));
  private readonly prompt = new PromptPanel((db) => this.select(db), () => this.poller.now());
  private readonly database = byId<HTMLSelectElement>("db");
  private polls = 0;
  readonly poller = new Poller(() => this.poll(), PERIOD_MS, browserTimers);

  constructor() {
    this.database.addEventListener("change", () => this.select(Number(this.database.value)));
    document.addEventListener("visibilitychange", () => this.poller.now());
    startShortcuts([
      { key: "/", what: "Search for keys", run: () => this.list.focus() },
      { key: ":", what: "Command prompt", run: () => this.prompt.focus() },
      { key: "g", what: "Expiry horizon", run: () => focusOn("horizon", ".plot") },
      { key: "k", what: "The key that was chosen", run: () => focusOn("key", null) },
      { key: "t", what: "Light or dark", run: toggleTheme },
      { key: "r", what: "Refresh now", run: () => { this.poller.now(); void this.key.refresh(); } },
    ]);
  }

  start(): void {
    this.rates.forget();
    this.polls = 0;
    this.poller.start();
    void this.list.start();
  }

  private select(db: number): void {
    state.db = db;
    if (![...this.database.options].some((option) => option.value === String(db))) {
      this.database.append(h("option", { value: String(db) }, String(db)));
    }
    this.database.value = String(db);
    this.prompt.setDatabase(db);
    void this.key.open(null);
    void this.list.start();
  }

  private async poll(): Promise<boolean> {
    try {
      const withSlow = this.polls % SLOW_EVERY === 0;
      const replies = await api.run(state.db, [
        ["INFO", ...SECTIONS], this.horizon.command(), ...(withSlow ? SlowPanel.commands : [])]);
      this.take(replies, withSlow);
      await this.feed.poll();
      if (withSlow) await this.key.follow();
      this.polls += 1;
      showLive();
      return true;
    } catch (error) {
      this.rates.forget();
      if (error instanceof api.LoginNeeded) {
        askToLogIn("The session has ended.");
        return false;
      }
      showLost(error instanceof Error ? error.message : String(error));
      return false;
    }
  }

  private take(replies: api.Reply[], withSlow: boolean): void {
    const [first, second] = replies;
    if (!first || "error" in first) throw new Error(first ? first.error : "no reply");
    const info = new Info(String(first.ok));
    const stats = second && "ok" in second ? readTtlStats(second.ok) : null;
    const ms = stats?.now || info.number("server_time_usec") / 1000 || Date.now();
    state.clockOffset = ms - Date.now();
    const sample: Sample = { ms, info, stats, rates: this.rates.next(ms, counters(info, stats)) };
    for (const panel of this.panels) panel.update(sample);
    if (withSlow) {
      this.slow.update(replies.slice(2), new Info(String(api.valueOf(replies[3]))));
    }
    showServer(info);
    this.showDatabases(info);
  }

  private showDatabases(info: Info): void {
    const wanted = [...new Set([0, state.db, ...info.databases().map(({ db }) => db)])]
        .sort((one, other) => one - other).map(String);
    const shown = [...this.database.options].map((option) => option.value);
    if (wanted.join() === shown.join() || document.activeElement === this.database) return;
    this.database.replaceChildren(...wanted.map((db) => h("option", { value: db }, db)));
    this.database.value = String(state.db);
  }
}

function focusOn(id: string, inside: string | null): void {
  const section = byId(id);
  section.scrollIntoView({ block: "nearest" });
  (inside ? section.querySelector<HTMLElement>(inside) : section)?.focus({ preventScroll: true });
}

function showServer(info: Info): void {
  const role = info.text("role") === "master" ? "primary" : "replica";
  setText(byId("server"), `${info.text("mayfly_version")} on port ${info.text("tcp_port")}, ${role}, ` +
    `up ${format.duration(info.number("uptime_in_seconds") * 1000)}`);
}

function showState(name: string, text: string): void {
  const status = byId("status");
  status.dataset["state"] = name;
  setText(status, text);
  document.body.classList.toggle("lost", name === "lost");
}

function showLive(): void {
  showState("live", "Live");
  setHidden(byId("banner"), true);
}

function showLost(reason: string): void {
  showState("lost", "Disconnected");
  const banner = byId("banner");
  setText(banner, `Disconnected: ${reason}. The numbers are old; trying again.`);
  setHidden(banner, false);
}

let page: Console | null = null;

function askToLogIn(why: string): void {
  page?.poller.stop();
  document.querySelectorAll("dialog").forEach((dialog) => dialog.close(""));
  setHidden(byId("main"), true);
  setHidden(byId("banner"), true);
  setHidden(byId("logout"), true);
  setHidden(byId("login"), false);
  showState("out", "Logged out");
  setText(byId("login-error"), why);
  byId("password").focus();
}

async function logIn(event: Event): Promise<void> {
  event.preventDefault();
  const password = byId<HTMLInputElement>("password");
  try {
    await api.login(password.value);
    password.value = "";
    setText(byId("login-error"), "");
    await enter();
  } catch (error) {
    const text = error instanceof api.LoginNeeded ? "The password is wrong."
      : error instanceof api.Refused && error.status === 429
        ? "Too many attempts. Wait a moment, then try again."
        : error instanceof Error ? error.message : String(error);
    setText(byId("login-error"), text);
    password.select();
  }
}

async function logOut(): Promise<void> {
  try {
    await api.logout();
    askToLogIn("");
  } catch (error) {
    report(error);
  }
}

/** Shows the console, or asks for the password first. */
async function enter(): Promise<void> {
  const session = await api.session();
  state.readOnly = session.read_only;
  if (session.login_required && !session.logged_in) {
    askToLogIn("");
    return;
  }
  setHidden(byId("login"), true);
  setHidden(byId("main"), false);
  setHidden(byId("logout"), !session.login_required);
  page ??= new Console();
  page.start();
}

async function begin(): Promise<void> {
  startTheme();
  startCountdowns();
  whenLoginIsNeeded(() => askToLogIn("The session has ended."));
  byId("login-form").addEventListener("submit", (event) => void logIn(event));
  byId("logout").addEventListener("click", () => void logOut());
  const first = new Poller(async () => {
    try {
      await enter();
      first.stop();
      return true;
    } catch (error) {
      showLost(error instanceof Error ? error.message : String(error));
      return false;
    }
  }, PERIOD_MS, browserTimers);
  document.addEventListener("visibilitychange", () => first.now());
  first.start();
}

void begin();
