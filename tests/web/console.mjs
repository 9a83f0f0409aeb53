// SPDX-License-Identifier: Apache-2.0
// What the tests of the console share: a server of their own, a browser, and pages that fail the
// test on any error in the browser's console and on any request to another host.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const require = createRequire(join(process.env.MODULES, "any.js"));
const { chromium } = require("playwright-core");
const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
export const PATIENCE_MS = 20_000;

export const axeSource = () => require.resolve("axe-core/axe.min.js");

// Below those that the system gives to clients.
function freePort() {
  return new Promise((resolve) => {
    const wanted = 15_000 + Math.floor(Math.random() * 17_000);
    const probe = net.createServer();
    probe.once("error", () => resolve(freePort()));
    probe.listen(wanted, "127.0.0.1", () => probe.close(() => resolve(wanted)));
  });
}

export async function until(condition, what) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end;) {
    if (await condition()) return;
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
  assert.fail(`waited in vain until ${what}`);
}

/** The real program, with the console. */
export class Server {
  constructor(...options) {
    this.options = options;
    this.folder = mkdtempSync(join(tmpdir(), "mayfly-console-"));
    const at = options.indexOf("--requirepass");
    this.password = at < 0 ? "" : options[at + 1];
  }

  /** Again at the same ports, once it has had some. */
  async start() {
    for (let attempt = 0; ; attempt += 1) {
      const port = this.port ?? await freePort();
      const httpPort = this.httpPort ?? await freePort();
      if (await this.startAt(port, httpPort)) {
        Object.assign(this, { port, httpPort });
        return this;
      }
      assert.ok(attempt < 10 && this.output.includes("in use"), this.output);
    }
  }

  /** False if it has ended. */
  async startAt(port, httpPort) {
    this.url = `http://127.0.0.1:${httpPort}/`;
    this.output = "";
    this.process = spawn(process.env.MAYFLY, [
      "serve", "--port", port, "--http-port", httpPort, "--bind", "127.0.0.1",
      "--save", "", "--dir", this.folder, ...this.options,
    ].map(String), { stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream.on("data", (data) => { this.output += data; });
    }
    await until(async () => this.process.exitCode !== null ||
                            (await fetch(`${this.url}ready`).catch(() => null))?.ok,
                `the server answers\n${this.output}`);
    return this.process.exitCode === null;
  }

  async kill() {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const gone = new Promise((resolve) => { this.process.once("exit", resolve); });
    this.process.kill("SIGKILL");
    await gone;
  }

  async end() {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  environment() {
    return this.password ? { ...process.env, REDISCLI_AUTH: this.password } : process.env;
  }

  /** The reply of a command, as redis-cli prints it. */
  ask(...words) {
    return execFileSync("redis-cli", ["-p", String(this.port), ...words.map(String)], {
      encoding: "utf8", timeout: PATIENCE_MS, env: this.environment(),
    }).trim();
  }

  /** Many commands at once, one per line. */
  pipe(lines) {
    execFileSync("redis-cli", ["-p", String(this.port)], {
      encoding: "utf8", timeout: PATIENCE_MS, input: `${lines.join("\n")}\n`,
      env: this.environment(),
    });
  }
}

export async function startBrowser() {
  const executablePath = CHROMIUM.find((path) => existsSync(path));
  assert.ok(executablePath, "there is no Chromium: install the package chromium");
  return chromium.launch({ executablePath, args: ["--no-sandbox"] });
}

/**
 * Opens the console, hands the page to `use`, and checks that the browser found nothing wrong.
 * `allowed` are messages that the test provokes.
 */
export async function withPage(browser, server, use, options = {}, allowed = null) {
  const { entry = "", ...more } = options;
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...more });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => {
    const text = `${message.text()} ${message.location().url}`;
    if (!/error|warning/.test(message.type()) || text.includes("willReadFrequently")) return;
    if (!allowed?.test(text)) wrong.push(text);
  });
  page.on("pageerror", (error) => wrong.push(String(error.stack)));
  page.on("dialog", (dialog) => { wrong.push(`dialog: ${dialog.message()}`); void dialog.dismiss(); });
  page.on("request", (request) => {
    if (!request.url().startsWith(server.url) && !request.url().startsWith("data:")) {
      wrong.push(`asked another host: ${request.url()}`);
    }
  });
  try {
    await page.goto(server.url + entry);
    await use(page, context);
    assert.deepEqual(wrong, []);
  } finally {
    await context.close();
  }
}

export const live = (page) => page.locator('#status[data-state="live"]').waitFor();
export const text = async (page, selector) => (await page.locator(selector).first().textContent()) ?? "";

/** Searches for a key by its pattern and opens the first that is found. */
export async function openKey(page, pattern) {
  await page.locator("#pattern").fill(pattern);
  await page.getByLabel("Order", { exact: true }).selectOption("name");
  await page.getByRole("button", { name: "Search" }).click();
  await page.locator("#keys button.name").first().click();
  await page.locator("#key .facts").waitFor();
}
