// SPDX-License-Identifier: Apache-2.0
// Makes the pictures of docs/console.md: the page in light, in dark and on a phone.

import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { Server, live, openKey, startBrowser, withPage } from "./console.mjs";

const OUT = "docs/images";
const WARM_UP_MS = 20_000;

/** The same numbers at every run. */
function random(seed) {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

function example() {
  const next = random(7);
  const lines = [];
  const seconds = (middle, spread) => Math.max(6, Math.round(middle + spread * (next() + next() - 1)));
  for (let at = 0; at < 4000; at += 1) {
    const ttl = at % 3 === 0 ? seconds(2400, 700) : seconds(1800, 1900);
    lines.push(`SET session:${String(at).padStart(4, "0")} ${"x".repeat(40 + at % 200)} EX ${ttl}`);
  }
  for (let at = 0; at < 60; at += 1) {
    lines.push(`HSET user:${at} name "User ${at}" email user${at}@example.com otp ${100000 + at * 7919 % 900000} cart "3 items" token t${at}`,
               `HEXPIRE user:${at} ${seconds(420, 300)} FIELDS 1 otp`,
               `HEXPIRE user:${at} ${seconds(1500, 900)} FIELDS 2 cart token`);
  }
  for (let at = 0; at < 600; at += 1) lines.push(`SET flash:${at} 1 PX ${7000 + at * 90}`);
  return lines;
}

async function load(server, page) {
  for (const end = Date.now() + WARM_UP_MS; Date.now() < end;) {
    server.pipe(Array.from({ length: 300 }, (_, at) => `GET session:${String(at * 7).padStart(4, "0")}`));
    await page.waitForTimeout(400);
  }
}

const browser = await startBrowser();
const server = await new Server().start();
server.pipe(example());
mkdirSync(OUT, { recursive: true });
for (const [name, options] of [
  ["light", { colorScheme: "light", viewport: { width: 1280, height: 900 } }],
  ["dark", { colorScheme: "dark", viewport: { width: 1280, height: 900 } }],
  ["phone", { colorScheme: "light", viewport: { width: 390, height: 844 } }],
]) {
  await withPage(browser, server, async (page) => {
    await live(page);
    await load(server, page);
    await openKey(page, "user:1*");
    await page.locator("#key tr", { hasText: "otp" }).first().waitFor();
    await page.waitForTimeout(800);  // a smooth scroll to the button ends
    await page.evaluate(() => { document.activeElement?.blur(); scrollTo({ top: 0, behavior: "instant" }); });
    await page.waitForTimeout(300);
    const path = join(OUT, `console-${name}.png`);
    await page.screenshot({ path });
    console.log(`${path}: ${Math.round(statSync(path).size / 1000)} KB`);
  }, options);
}
await browser.close();
await server.end();
