#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Bundles the console, or its unit tests:
//
//   node build.mjs --modules FOLDER --out FOLDER            the files of the page
//   node build.mjs --modules FOLDER --out FOLDER --tests    x_test.mjs for each x_test.ts
//
// --modules is the node_modules folder with esbuild and uPlot: it need not be here. The files of
// the page together must stay below 300 KB when compressed; the build fails otherwise.

import { createRequire } from "node:module";
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const HERE = dirname(fileURLToPath(import.meta.url));
const LIMIT_BYTES = 300_000;
const STATIC = ["index.html", "favicon.svg"];

function option(name) {
  const at = process.argv.indexOf(name);
  if (at < 0 || at + 1 >= process.argv.length) {
    console.error(`build.mjs: ${name} FOLDER is missing`);
    process.exit(2);
  }
  return resolve(process.argv[at + 1]);
}

const modules = option("--modules");
const out = option("--out");
const esbuild = createRequire(join(modules, "any.js"))("esbuild");
const common = {
  absWorkingDir: HERE, bundle: true, nodePaths: [modules], charset: "utf8", logLevel: "warning",
  target: ["es2021", "chrome100", "firefox100", "safari15.4"], legalComments: "none",
};

/** The licences of what is bundled must go with it. */
function notices() {
  const licence = readFileSync(join(modules, "uplot/LICENSE"), "utf8").trim();
  return `/*! Mayfly console. SPDX-License-Identifier: Apache-2.0\nIncludes uPlot:\n${licence}\n*/`;
}

async function page() {
  await esbuild.build({
    ...common, minify: true, format: "iife", outdir: out, banner: { js: notices() },
    entryPoints: { app: "src/main.ts" },
  });
  await esbuild.build({
    ...common, minify: true, outdir: out, entryPoints: { app: "src/app.css" },
  });
  for (const name of STATIC) cpSync(join(HERE, name), join(out, name));
  let sum = 0;
  for (const name of ["index.html", "app.js", "app.css", "favicon.svg"]) {
    const content = readFileSync(join(out, name));
    const packed = gzipSync(content, { level: 9 }).length;
    sum += packed;
    console.log(`${name.padEnd(12)} ${String(content.length).padStart(7)} bytes, ` +
                `${String(packed).padStart(6)} compressed`);
  }
  console.log(`together     ${sum} compressed, of at most ${LIMIT_BYTES}`);
  if (sum > LIMIT_BYTES) {
    console.error("build.mjs: the files of the page are too large");
    process.exit(1);
  }
}

function testsBelow(folder) {
  return readdirSync(join(HERE, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return testsBelow(path);
    return entry.name.endsWith("_test.ts") ? [path] : [];
  });
}

async function tests() {
  const files = testsBelow("src");
  const result = await esbuild.build({
    ...common, format: "esm", platform: "node", target: "node18", outdir: out, outbase: "src",
    entryPoints: files, outExtension: { ".js": ".mjs" }, write: false, sourcemap: "inline",
  });
  for (const file of result.outputFiles) {
    mkdirSync(dirname(file.path), { recursive: true });
    writeFileSync(file.path, file.contents);
  }
  console.log(`${files.length} test files`);
}

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
await (process.argv.includes("--tests") ? tests() : page());
