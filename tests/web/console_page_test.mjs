// SPDX-License-Identifier: Apache-2.0
// The page as a whole: numbers, charts, themes, keyboard, phone, accessibility, login, recovery.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { Server, axeSource, live, startBrowser, text, until, withPage } from "./console.mjs";

const EXPIRING = 300;
let browser;
let server;

before(async () => {
  browser = await startBrowser();
  server = await new Server().start();
  const lines = [];
  for (let at = 0; at < EXPIRING; at += 1) {
    lines.push(`SET session:${at} value EX ${600 + at * 8}`);  // 10 to 50 minutes
  }
  lines.push("SET plain value", "HSET user:1 name Ada token abc", "HEXPIRE user:1 1200 FIELDS 1 token");
  server.pipe(lines);
});

after(async () => {
  await browser?.close();
  await server?.end();
});

test("the numbers are those of INFO", () => withPage(browser, server, async (page) => {
  await live(page);
  const paint = await page.evaluate(() =>
    performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0);
  console.log(`first paint after ${Math.round(paint)} ms`);
  assert.equal(await text(page, "#tile-keys"), server.ask("DBSIZE"));
  assert.equal(await text(page, "#tile-expiring"), String(EXPIRING + 1));
  const info = server.ask("INFO", "memory");
  const mib = Number(/used_memory:(\d+)/.exec(info)[1]) / 1024 / 1024;
  assert.match(await text(page, "#tile-memory"), /^[\d.]+ (Ki|Mi)B$/);
  const shown = await text(page, "#tile-memory");
  const value = parseFloat(shown) / (shown.includes("KiB") ? 1024 : 1);
  assert.ok(Math.abs(value - mib) < 1, `${shown} but INFO says ${mib} MiB`);
  server.ask("SET", "another", "value");
  await until(async () => (await text(page, "#tile-keys")) === server.ask("DBSIZE"), "the key is counted");
  server.ask("DEL", "another");
}));

test("the charts fill, and their tables say the same", () => withPage(browser, server, async (page) => {
  await live(page);
  const painted = (selector, colour) => page.evaluate(([where, name]) => {
    const canvas = document.querySelector(`${where} canvas`);
    const wanted = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(wanted.slice(at, at + 2), 16));
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let found = 0;
    for (let at = 0; at < data.length; at += 4) {
      if (Math.abs(data[at] - red) + Math.abs(data[at + 1] - green) +
          Math.abs(data[at + 2] - blue) < 12 && data[at + 3] > 200) found += 1;
    }
    return found;
  }, [selector, colour]);
  await until(async () => (await painted("#horizon", "--bar")) > 1000, "the horizon has bars");
  assert.ok((await painted("#horizon", "--c2")) > 200, "the forecast of memory is drawn");
  await until(async () => (await painted("#commands", "--c4")) > 5, "commands are drawn");
  await until(async () => (await painted("#memory", "--c1")) > 5, "memory is drawn");
  await page.locator("#horizon summary").click();
  await until(async () => {
    const cells = await page.locator("#horizon td:nth-child(3)").allTextContents();
    return cells.reduce((sum, cell) => sum + Number(cell.replace(/,/g, "")), 0) === EXPIRING + 1;
  }, "the table has all entries");
  const due = await page.locator("#due td:nth-child(3)").allTextContents();
  assert.equal(due.reduce((sum, cell) => sum + Number(cell), 0), EXPIRING + 1);
}));

test("the horizon zooms by button and by keyboard, and a bar lists its keys",
  () => withPage(browser, server, async (page) => {
    await live(page);
    await page.getByTitle("The next 1 day").click();
    const readout = () => text(page, "#horizon .readout span");
    await until(async () => (await readout()).includes("in the next 1 d"), "the range is a day");
    await page.locator("#horizon .plot").press("+");
    await until(async () => (await readout()).includes("12 h"), "the range is half a day");
    await page.getByTitle("The next 1 hour").click();
    await until(async () => (await readout()).includes("in the next 1 h"), "the range is an hour");
    const box = await page.locator("#horizon .u-over").boundingBox();
    await page.mouse.click(box.x + box.width / 2, box.y + box.height - 8);
    await page.getByRole("button", { name: "List these keys" }).click();
    await page.locator("#keys .chip").waitFor();
    await page.locator("#keys button.name").first().waitFor();
    assert.ok((await page.locator("#keys button.name").count()) < 20);
  }));

test("light and dark follow the system until the user chooses, who is remembered",
  () => withPage(browser, server, async (page) => {
    await live(page);
    const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
    assert.equal(await theme(), "dark");
    const back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.locator("#theme").click();
    assert.equal(await theme(), "light");
    assert.notEqual(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), back);
    await page.reload();
    await live(page);
    assert.equal(await theme(), "light");
  }, { colorScheme: "dark" }));

test("everything can be done with the keyboard", () => withPage(browser, server, async (page) => {
  await live(page);
  const { keyboard } = page;
  await keyboard.press("?");
  await page.getByRole("heading", { name: "Keyboard shortcuts" }).waitFor();
  await keyboard.press("Escape");
  await until(async () => (await page.locator("dialog").count()) === 0, "the help is closed");
  await keyboard.press("/");
  await keyboard.type("user:*");
  await page.getByLabel("Order", { exact: true }).selectOption("name");
  await keyboard.press("Enter");
  await page.locator("#keys button.name", { hasText: "user:1" }).focus();
  await keyboard.press("Enter");
  await page.locator("#key td", { hasText: "token" }).waitFor();
  await keyboard.press(":");
  await keyboard.type("pin");
  await page.locator("#completions li", { hasText: "PING" }).waitFor();
  await keyboard.press("Tab");
  assert.equal(await page.locator("#command").inputValue(), "PING ");
  await keyboard.press("Enter");
  await page.locator("#prompt pre", { hasText: "PONG" }).waitFor();
  await keyboard.press("ArrowUp");
  assert.equal(await page.locator("#command").inputValue(), "PING");
}));

test("a phone shows one column, and nothing is cut", () => withPage(browser, server, async (page) => {
  await live(page);
  await page.locator("#horizon canvas").waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
  const cut = await page.locator("main > .card").evaluateAll((cards) =>
    cards.filter((card) => card.scrollWidth > card.clientWidth).map((card) => card.id));
  assert.deepEqual(cut, []);
  const lefts = await page.locator("main > .card").evaluateAll((cards) =>
    cards.map((card) => card.getBoundingClientRect().left));
  assert.equal(new Set(lefts).size, 1);
}, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }));

for (const colorScheme of ["light", "dark"]) {
  test(`a screen reader finds its way (${colorScheme})`, () => withPage(browser, server, async (page) => {
    await live(page);
    await page.evaluate(readFileSync(axeSource(), "utf8"));
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    assert.deepEqual(violations.map(({ id, nodes }) => [id, ...nodes.map(({ target }) => target.join())]), []);
  }, { colorScheme, bypassCSP: true }));
}

test("says that the server is away, and recovers", async () => {
  const other = await new Server().start();
  try {
    await withPage(browser, other, async (page) => {
      await live(page);
      await other.kill();
      await page.locator('#status[data-state="lost"]').waitFor();
      assert.match(await text(page, "#banner"), /Disconnected/);
      await other.start();
      await live(page);
      assert.equal(await page.locator("#banner").isVisible(), false);
    }, {}, /ERR_|Failed to load/);
  } finally {
    await other.end();
  }
});

test("asks for the password, and again when the session has ended", async () => {
  const other = await new Server("--requirepass", "secret").start();
  try {
    await withPage(browser, other, async (page) => {
      const submit = async (password) => {
        await page.getByLabel("Password").fill(password);
        await page.getByRole("button", { name: "Log in" }).click();
      };
      await submit("wrong");
      await until(async () => /wrong/.test(await text(page, "#login-error")), "the password is refused");
      await submit("secret");
      await live(page);
      await page.getByRole("button", { name: "Log out" }).click();
      await page.locator("#login").waitFor();
      await submit("secret");
      await live(page);
      other.ask("CONFIG", "SET", "requirepass", "other");
      await until(() => page.locator("#login").isVisible(), "the session has ended");
      assert.match(await text(page, "#login-error"), /ended/);
    }, {}, /401/);
  } finally {
    await other.end();
  }
});
