// SPDX-License-Identifier: Apache-2.0
// Keys and members: the countdown, changes after a confirmation, names that try to be HTML, bytes.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Server, live, openKey, startBrowser, text, until, withPage } from "./console.mjs";

let browser;
let server;

before(async () => {
  browser = await startBrowser();
  server = await new Server().start();
});

after(async () => {
  await browser?.close();
  await server?.end();
});

const gone = (locator, what) => until(async () => (await locator.count()) === 0, what);

test("a countdown reaches zero, the member goes, and the feed says so",
  () => withPage(browser, server, async (page) => {
    server.ask("HSET", "cart:1", "item", "shoes", "coupon", "ten");
    await live(page);
    server.ask("HPEXPIRE", "cart:1", 6000, "FIELDS", 1, "coupon");
    await openKey(page, "cart:1");
    const row = page.locator("#key tr", { hasText: "coupon" });
    await row.waitFor();
    const left = row.locator(".left");
    const first = parseFloat((await left.textContent()) ?? "");
    assert.ok(first > 0 && first <= 6, `${first} s are left`);
    await until(async () => parseFloat((await left.textContent()) ?? "") < first, "it counts down");
    await gone(row, "the field is gone");
    await page.locator("#key tr", { hasText: "shoes" }).waitFor();
    await page.locator("#feed li", { hasText: "cart:1 › coupon" }).waitFor();
  }));

test("sets and removes TTLs of keys and members, and deletes, only after a yes",
  () => withPage(browser, server, async (page) => {
    server.ask("ZADD", "board", 1, "ann", 2, "bob");
    await live(page);
    await openKey(page, "board");
    await page.getByRole("button", { name: "Set TTL of ann" }).click();
    await page.getByLabel("Time to live").fill("soon");
    await page.locator("dialog").getByRole("button", { name: "Set TTL" }).click();
    await page.locator("dialog .error", { hasText: "Not a duration" }).waitFor();
    await page.getByLabel("Time to live").fill("1h 30m");
    await page.locator("dialog").getByRole("button", { name: "Set TTL" }).click();
    await gone(page.locator("dialog"), "the question is closed");
    const ttl = () => Number(server.ask("ZPTTL", "board", "MEMBERS", 1, "ann"));
    await until(() => ttl() > 5_300_000 && ttl() <= 5_400_000, "the member has a TTL");
    await page.getByRole("button", { name: "Remove TTL of ann" }).click();
    await page.locator("dialog").getByRole("button", { name: "Remove TTL" }).click();
    await until(() => ttl() === -1, "the TTL is removed");

    await page.locator("#key .actions").getByRole("button", { name: "Set TTL" }).click();
    await page.getByLabel("Time to live").fill("600");
    await page.keyboard.press("Enter");
    await until(() => Number(server.ask("PTTL", "board")) > 590_000, "the key has a TTL");

    await page.getByRole("button", { name: "Delete bob" }).click();
    await page.locator("dialog").getByRole("button", { name: "Cancel" }).click();
    await gone(page.locator("dialog"), "the question is closed");
    assert.equal(server.ask("ZCARD", "board"), "2");
    await page.getByRole("button", { name: "Delete bob" }).click();
    await page.locator("dialog").getByRole("button", { name: "Delete" }).click();
    await until(() => server.ask("ZCARD", "board") === "1", "the member is deleted");

    await page.getByRole("button", { name: "Delete key" }).click();
    await page.locator("dialog").getByRole("button", { name: "Delete" }).click();
    await until(() => server.ask("EXISTS", "board") === "0", "the key is deleted");
    await page.locator("#key .empty", { hasText: "does not exist" }).waitFor();
  }));

test("names and values with markup are shown as text", () => withPage(browser, server, async (page) => {
  const evil = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>";
  server.ask("HSET", evil, evil, evil);
  server.ask("HPEXPIRE", evil, 1500, "FIELDS", 1, evil);
  server.ask("SET", `${evil}2`, evil, "PX", 3_000_000);
  await live(page);
  await openKey(page, "<img*2");
  assert.equal(await text(page, "#key-title"), `${evil}2`);
  assert.equal(await text(page, "#key pre.value"), evil);
  await page.locator("#feed li", { hasText: `${evil} › ${evil}` }).waitFor();
  await page.locator("#command").fill(`GET "${evil}2"`);
  await page.keyboard.press("Enter");
  await page.locator("#prompt pre", { hasText: evil }).waitFor();
  assert.equal(await page.evaluate(() => globalThis.hacked), undefined);
  assert.equal(await page.locator("main img, main script").count(), 0);
}));

test("keys of any bytes can be opened and deleted", () => withPage(browser, server, async (page) => {
  server.pipe(['SET "bin\\xff\\x00key" "\\xfe\\x01" EX 1000', "SET number 9223372036854775807"]);
  await live(page);
  await openKey(page, "bin*");
  assert.equal(await text(page, "#key-title"), "bin\\xff\\x00key");
  assert.equal(await text(page, "#key pre.value"), "\\xfe\\x01");
  await page.locator("#command").fill("INCRBY number 0");
  await page.keyboard.press("Enter");
  await page.locator("#prompt pre", { hasText: "(integer) 9223372036854775807" }).waitFor();
  const before = Number(server.ask("DBSIZE"));
  await page.getByRole("button", { name: "Delete key" }).click();
  await page.locator("dialog").getByRole("button", { name: "Delete" }).click();
  await until(() => Number(server.ask("DBSIZE")) === before - 1, "the key is deleted");
}));

test("the list by time begins with what expires first, and what has expired leaves it",
  () => withPage(browser, server, async (page) => {
    server.ask("SET", "soon:2", "x", "EX", 500);
    server.ask("SET", "soon:1", "x", "EX", 400);
    await live(page);
    server.ask("SET", "soon:0", "x", "PX", 8000);
    await page.locator("#pattern").fill("soon:*");
    await page.keyboard.press("Enter");
    const names = page.locator("#keys button.name");
    await until(async () => (await names.allTextContents()).join() === "soon:0,soon:1,soon:2",
                "the keys are listed by time");
    await until(async () => (await names.allTextContents()).join() === "soon:1,soon:2",
                "the key that expired has left the list");
  }));

test("the list shows the keys of the README, by the member that expires first",
  () => withPage(browser, server, async (page) => {
    server.ask("FLUSHALL");
    server.ask("SET", "motd", "hello");
    await live(page);
    await page.locator("#pattern").press("Enter");
    await page.locator("#keys .empty", { hasText: "1 key, and it does not expire." }).waitFor();
    await page.getByRole("button", { name: "List by name" }).click();
    await page.locator("#keys button.name", { hasText: "motd" }).waitFor();

    server.ask("HSETEX", "session:42", "EX", 1800, "FIELDS", 2, "user", "alice", "token", "7f3a");
    server.ask("HEXPIRE", "session:42", 60, "FIELDS", 1, "token");
    server.ask("SADDEX", "online", "EX", 90, "MEMBERS", 2, "ann", "bob");
    server.ask("ZADDEX", "board", "EX", 3600, "MEMBERS", 2, 90, "ann", 80, "bob");
    await page.getByLabel("Order", { exact: true }).selectOption("soonest");
    const names = page.locator("#keys button.name");
    await until(async () => (await names.allTextContents()).join() === "session:42,online,board",
                "the keys are listed");
    const first = page.locator("#keys tbody tr").first();
    assert.match(await first.textContent(), /token (1 m|[\d.]+ s)/);

    await page.locator("#pattern").fill("motd");
    await page.keyboard.press("Enter");
    await until(async () => (await names.allTextContents()).join() === "motd",
                "the key of this name is found though it does not expire");
    server.ask("FLUSHALL");
  }));

test("a dangerous command asks first", () => withPage(browser, server, async (page) => {
  server.ask("SET", "kept", "x");
  await live(page);
  await page.locator("#command").fill("flushall");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Run flushall?" }).waitFor();
  await page.keyboard.press("Escape");
  await gone(page.locator("dialog"), "the question is closed");
  assert.equal(server.ask("EXISTS", "kept"), "1");
  await page.locator("#command").press("Enter");
  await page.locator("dialog").getByRole("button", { name: "Run" }).click();
  await until(() => server.ask("DBSIZE") === "0", "the keys are deleted");
}));
