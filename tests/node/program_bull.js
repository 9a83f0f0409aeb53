// SPDX-License-Identifier: Apache-2.0
// What a user of Bull does: jobs that run, wait, fail and are repeated.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import Bull from "bull";
import { Redis } from "ioredis";

import { limit, until } from "./wait.js";

const port = Number(process.env.PORT);

describe("Bull", limit, () => {
  let plain;
  before(() => {
    plain = new Redis({ port, host: "127.0.0.1" });
    return plain.flushall();
  });
  after(() => plain.quit());

  const open = (context, name, options = {}) => {
    const queue = new Bull(name, { redis: { port, host: "127.0.0.1" }, ...options,
                                   settings: { drainDelay: 1, ...options.settings } });
    queue.on("error", (error) => assert.fail(error));
    context.after(() => queue.close());
    return queue;
  };

  test("jobs run, in order, and their results are kept", async (context) => {
    const queue = open(context, "plain");
    const jobs = await queue.addBulk(Array.from({ length: 50 }, (_, n) => ({ data: { n } })));
    const order = [];
    queue.process(async (job) => {
      order.push(job.data.n);
      await job.progress(50);
      await job.log(`squares ${job.data.n}`);
      return job.data.n ** 2;
    });
    assert.deepEqual(await Promise.all(jobs.map((job) => job.finished())),
                     jobs.map((job) => job.data.n ** 2));
    assert.deepEqual(order, jobs.map((job) => job.data.n));
    assert.equal(await queue.getCompletedCount(), 50);
    const last = await queue.getJob(jobs[49].id);
    assert.equal(last.returnvalue, 49 ** 2);
    assert.equal(last.progress(), 50);
    assert.deepEqual((await queue.getJobLogs(last.id)).logs, ["squares 49"]);
    assert.equal((await queue.clean(0, "completed", 20)).length, 20);
    assert.equal(await queue.getCompletedCount(), 30);
    await queue.obliterate();
    assert.deepEqual(await plain.keys("bull:plain:*"), []);
  });

  test("a job that fails is tried again after its backoff, then has failed", async (context) => {
    const queue = open(context, "retries");
    const tries = {};
    const work = async (job) => {
      tries[job.name] = (tries[job.name] ?? 0) + 1;
      if (job.name === "third time" && job.attemptsMade === 2) return "done";
      throw new Error(`${job.name} fails`);
    };
    queue.process("third time", work);
    queue.process("always", work);
    const options = { attempts: 3, backoff: { type: "exponential", delay: 20 } };
    const third = await queue.add("third time", {}, options);
    const always = await queue.add("always", {}, options);
    assert.equal(await third.finished(), "done");
    await assert.rejects(always.finished(), /always fails/);
    assert.deepEqual(tries, { "third time": 3, always: 3 });
    assert.deepEqual(await queue.getJobCounts(),
                     { waiting: 0, active: 0, completed: 1, failed: 1, delayed: 0, paused: 0 });
    const failed = await queue.getJob(always.id);
    assert.equal(failed.failedReason, "always fails");
    await failed.retry();
    await until("it is tried a fourth time", () => tries.always === 4);
  });

  test("a delayed job waits for its time, and can be promoted", async (context) => {
    const queue = open(context, "delays");
    const ran = [];
    const later = await queue.add("later", {}, { delay: 100_000 });
    await queue.add("b", {}, { delay: 250 });
    await queue.add("a", {}, { delay: 150 });
    assert.equal(await queue.getDelayedCount(), 3);
    queue.process("*", async (job) => void ran.push([job.name, Date.now() - job.timestamp]));
    await until("two have run", () => ran.length === 2);
    assert.deepEqual(ran.map(([name]) => name), ["a", "b"]);
    assert.ok(ran[0][1] >= 150 && ran[1][1] >= 250, ran);
    await later.promote();
    await until("the third has run", () => ran.length === 3);
    assert.equal(await queue.getDelayedCount(), 0);
  });

  test("priorities, last in first out, and a pause", async (context) => {
    const queue = open(context, "order");
    await queue.pause();
    assert.equal(await queue.isPaused(), true);
    const ran = [];
    queue.process("*", async (job) => void ran.push(job.name));
    for (const [name, options] of [["low", { priority: 9 }], ["high", { priority: 1 }],
                                   ["mid", { priority: 5 }], ["first", { lifo: true }]]) {
      await queue.add(name, {}, options);
    }
    assert.equal(await queue.getPausedCount(), 4);
    await queue.resume();
    await until("all have run", () => ran.length === 4);
    assert.deepEqual(ran, ["first", "high", "mid", "low"]);
  });

  test("a job of a worker that has died is given to another", async (context) => {
    const dead = open(context, "stalls", { settings: { lockDuration: 100, stalledInterval: 0 } });
    const { id } = await dead.add({});
    assert.equal((await dead.getNextJob()).id, id, "taken, and never finished");
    assert.equal(await dead.getActiveCount(), 1);
    const queue = open(context, "stalls", { settings: { stalledInterval: 100 } });
    const stalled = [];
    queue.on("stalled", (job) => stalled.push(job.id));
    queue.process(async () => "recovered");
    const job = await queue.getJob(id);
    assert.equal(await job.finished(), "recovered");
    assert.deepEqual(stalled, [id]);
  });

  test("a limit of jobs in a time, and a job that repeats", async (context) => {
    const queue = open(context, "limits", { limiter: { max: 2, duration: 200 } });
    const ran = [];
    const start = Date.now();
    queue.process(10, async () => void ran.push(Date.now()));
    await queue.addBulk(Array.from({ length: 5 }, () => ({ data: {} })));
    await until("all have run", () => ran.length === 5);
    assert.ok(ran[2] - start >= 195 && ran[4] - start >= 395, ran.map((at) => at - start));
    const ticking = open(context, "ticks");
    let ticks = 0;
    ticking.process("tick", async () => void (ticks += 1));
    await ticking.add("tick", {}, { repeat: { every: 60 } });
    await until("it ticks", () => ticks >= 3);
    await ticking.pause(true); // a job that starts now would add the next one
    const [{ key }] = await ticking.getRepeatableJobs();
    await ticking.removeRepeatableByKey(key);
    assert.deepEqual(await ticking.getRepeatableJobs(), []);
  });
});
