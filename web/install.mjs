#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Installs the packages of package-lock.json into a folder outside the sources, if they are not
// there yet:
//
//   node install.mjs --out FOLDER          what the build needs: FOLDER/node_modules
//   node install.mjs --out FOLDER --dev    what the tests need too

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const at = process.argv.indexOf("--out");
if (at < 0 || at + 1 >= process.argv.length) {
  console.error("install.mjs: --out FOLDER is missing");
  process.exit(2);
}
const out = resolve(process.argv[at + 1]);
const lock = readFileSync(join(HERE, "package-lock.json"), "utf8");
const installed = join(out, "node_modules", ".installed-lock.json");

if (!existsSync(installed) || readFileSync(installed, "utf8") !== lock) {
  mkdirSync(out, { recursive: true });
  for (const name of ["package.json", "package-lock.json"]) cpSync(join(HERE, name), join(out, name));
  const omitted = process.argv.includes("--dev") ? [] : ["--omit=dev"];
  const { status } = spawnSync("npm", [
    "ci", ...omitted, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error",
  ], { cwd: out, stdio: ["ignore", "inherit", "inherit"] });
  if (status !== 0) {
    console.error("install.mjs: npm could not install the packages of the web console " +
                  "(is the network down? -DMAYFLY_WEB=OFF builds the program without the page)");
    process.exit(1);
  }
  writeFileSync(installed, lock);
}
