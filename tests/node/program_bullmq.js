// SPDX-License-Identifier: Apache-2.0
// What a user of BullMQ does: jobs that run, wait, fail and are repeated, over both of its drivers.
// All its steps are Lua scripts, whose arguments are packed as MessagePack.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { FlowProducer, Queue, QueueEvents, UnrecoverableError, Worker } from "bullmq";
import { Redis } from "ioredis";
import { createClient } from "redis";

import { limit, until } from "./wait.js";

const port = Number(process.env.PORT);
const drivers = [
  ["ioredis", () => ({ port, host: "127.0.0.1" }), async () => {}],
  ["redis", () => createClient({ url: `redis://127.0.0.1:${port}` }),
   (client) => client.isOpen && client.close()],
];

/** What a test has opened, closed again in reverse. */
class Opened {
  #closers = [];
  constructor(context, connect, disconnect) {
    this.connect = () => {
      const connection = connect();
      this.#closers.push(() => disconnect(connection));
      return connection;
    };
    context.after(async () => {
      for (const close of this.#closers.reverse()) await close();
    });
  }
  #keep(one) {
    one.on("error", (error) => assert.fail(error));
    this.#closers.push(() => one.close());
    return one;
  }
  queue = (name) => this.#keep(new Queue(name, { connection: this.connect() }));
  worker = (name, work, options) =>
    this.#keep(new Worker(name, work, { connection: this.connect(), drainDelay: 1, ...options }));
  events = (name) => this.#keep(new QueueEvents(name, { connection: this.connect() }));
  flows = () => this.#keep(new FlowProducer({ connection: this.connect() }));
}

for (const [driver, connect, disconnect] of drivers) {
  describe(`BullMQ on ${driver}`, limit, () => {
    let plain;
    before(() => {
      plain = new Redis({ port, host: "127.0.0.1" });
      return plain.flushall();
    });
    after(() => plain.quit());
    const open = (context) => new Opened(context, connect, disconnect);

    test("jobs run, in order, and their results are kept", async (context) => {
      const opened = open(context);
      const queue = opened.queue("plain");
      const events = opened.events("plain");
      await events.waitUntilReady();
      const jobs = await queue.addBulk(
        Array.from({ length: 50 }, (_, n) => ({ name: "square", data: { n, text: "ü\0" } })));
      assert.deepEqual(await queue.getJobCounts("wait"), { wait: 50 });
      const order = [];
      opened.worker("plain", async (job) => {
        order.push(job.data.n);
        await job.updateProgress(50);
        await job.log(`squares ${job.data.n}`);
        return { square: job.data.n ** 2, text: job.data.text };
      });
      const results = await Promise.all(jobs.map((job) => job.waitUntilFinished(events)));
      assert.deepEqual(results, jobs.map(({ data: { n } }) => ({ square: n ** 2, text: "ü\0" })));
      assert.deepEqual(order, jobs.map((job) => job.data.n));
      assert.equal(await queue.getCompletedCount(), 50);
      const last = await queue.getJob(jobs[49].id);
      assert.equal(last.progress, 50);
      assert.equal(last.returnvalue.square, 49 ** 2);
      assert.deepEqual((await queue.getJobLogs(last.id)).logs, ["squares 49"]);
      assert.equal(await last.getState(), "completed");
      assert.equal((await queue.clean(0, 20, "completed")).length, 20);
      assert.equal(await queue.getCompletedCount(), 30);
    });

    test("a job that fails is tried again after its backoff, then has failed", async (context) => {
      const opened = open(context);
      const queue = opened.queue("retries");
      const tries = {};
      opened.worker("retries", async (job) => {
        tries[job.name] = (tries[job.name] ?? 0) + 1;
        if (job.name === "never again") throw new UnrecoverableError("no use");
        if (job.name === "third time" && job.attemptsMade === 2) return "done";
        throw new Error(`${job.name} fails`);
      });
      const options = { attempts: 3, backoff: { type: "exponential", delay: 20 } };
      const [third, always, never] = await queue.addBulk(["third time", "always", "never again"]
        .map((name) => ({ name, data: {}, opts: options })));
      await until("all are over", async () => (await queue.getFailedCount()) === 2 &&
                                              (await queue.getCompletedCount()) === 1);
      assert.deepEqual(tries, { "third time": 3, always: 3, "never again": 1 });
      assert.equal(await third.getState(), "completed");
      const failed = await queue.getJob(always.id);
      assert.equal(failed.failedReason, "always fails");
      assert.equal(failed.attemptsMade, 3);
      assert.equal(failed.stacktrace.length, 3);
      assert.equal((await queue.getJob(never.id)).failedReason, "no use");
      await failed.retry();
      await until("it is tried a fourth time", () => tries.always === 4);
    });

    test("a delayed job waits for its time, and can be promoted", async (context) => {
      const opened = open(context);
      const queue = opened.queue("delays");
      const ran = [];
      const later = await queue.add("later", {}, { delay: 100_000 });
      await queue.addBulk([["b", 250], ["a", 150]].map(
        ([name, delay]) => ({ name, data: {}, opts: { delay } })));
      assert.equal(await queue.getDelayedCount(), 3);
      opened.worker("delays", async (job) => void ran.push([job.name, Date.now() - job.timestamp]));
      await until("two have run", () => ran.length === 2);
      assert.deepEqual(ran.map(([name]) => name), ["a", "b"]);
      assert.ok(ran[0][1] >= 150 && ran[1][1] >= 250, ran);
      await later.changeDelay(200_000);
      await later.promote();
      await until("the third has run", () => ran.length === 3);
      assert.equal(await queue.getDelayedCount(), 0);
    });

    test("priorities, last in first out, and a pause", async (context) => {
      const opened = open(context);
      const queue = opened.queue("order");
      await queue.pause();
      assert.equal(await queue.isPaused(), true);
      const ran = [];
      opened.worker("order", async (job) => void ran.push(job.name));
      for (const [name, opts] of [["low", { priority: 9 }], ["high", { priority: 1 }],
                                  ["second", {}], ["mid", { priority: 5 }],
                                  ["first", { lifo: true }]]) {
        await queue.add(name, {}, opts);
      }
      assert.deepEqual(await queue.getJobCounts("wait", "prioritized", "active"),
                       { wait: 2, prioritized: 3, active: 0 });
      assert.deepEqual(await queue.getCountsPerPriority([1, 5, 7]), { 1: 1, 5: 1, 7: 0 });
      await queue.resume();
      await until("all have run", () => ran.length === 5);
      assert.deepEqual(ran, ["first", "second", "high", "mid", "low"]);
    });

    test("a flow runs the children first and gives the parent their results", async (context) => {
      const opened = open(context);
      const queue = opened.queue("flow");
      opened.worker("flow", async (job) => {
        if (job.name === "bad leaf") throw new Error("rotten");
        if (job.name !== "leaf") {
          const results = Object.values(await job.getChildrenValues());
          return results.reduce((sum, value) => sum + value, 0);
        }
        return job.data.value;
      }, { concurrency: 3 });
      const flows = opened.flows();
      const leaf = (value) => ({ name: "leaf", queueName: "flow", data: { value } });
      const tree = await flows.add({
        name: "root", queueName: "flow",
        children: [leaf(1), leaf(2), { name: "branch", queueName: "flow",
                                       children: [leaf(10), leaf(20)] }],
      });
      await until("the root has run", () => tree.job.isCompleted());
      assert.equal((await queue.getJob(tree.job.id)).returnvalue, 33);
      const stored = await flows.getFlow({ queueName: "flow", id: tree.job.id });
      assert.equal(stored.children.length, 3);
      const doomed = await flows.add({
        name: "doomed", queueName: "flow",
        children: [{ name: "bad leaf", queueName: "flow", opts: { failParentOnFailure: true } }],
      });
      await until("the parent fails with its child", () => doomed.job.isFailed());
    });

    test("a job of a worker that has died is given to another", async (context) => {
      const opened = open(context);
      const queue = opened.queue("stalls");
      const { id } = await queue.add("work", {});
      const dead = opened.worker("stalls", null, { autorun: false, skipStalledCheck: true,
                                                   lockDuration: 100 });
      assert.equal((await dead.getNextJob("a token")).id, id, "taken, and never finished");
      assert.equal(await queue.getActiveCount(), 1);
      const stalled = [];
      const worker = opened.worker("stalls", async () => "recovered", { stalledInterval: 100 });
      worker.on("stalled", (name) => stalled.push(name));
      const job = await queue.getJob(id);
      await until("it is done", () => job.isCompleted());
      assert.deepEqual(stalled, [id]);
    });

    test("a limit of jobs in a time, and one job at a time for a queue", async (context) => {
      const opened = open(context);
      const queue = opened.queue("limits");
      const ran = [];
      const start = Date.now();
      opened.worker("limits", async () => void ran.push(Date.now()),
                    { limiter: { max: 2, duration: 200 }, concurrency: 10 });
      await queue.addBulk(Array.from({ length: 5 }, () => ({ name: "job", data: {} })));
      await until("all have run", () => ran.length === 5);
      assert.ok(ran[2] - start >= 195 && ran[4] - start >= 395, ran.map((at) => at - start));
      await queue.setGlobalConcurrency(1);
      assert.equal(await queue.getGlobalConcurrency(), 1);
    });

    test("a schedule, deduplicated jobs, and the end of a queue", async (context) => {
      const opened = open(context);
      const queue = opened.queue("schedule");
      const ran = [];
      opened.worker("schedule", async (job) => void ran.push(job.name));
      await queue.upsertJobScheduler("tick", { every: 60 }, { name: "tick" });
      await until("it ticks", () => ran.length >= 3);
      assert.equal((await queue.getJobSchedulers()).length, 1);
      assert.equal(await queue.removeJobScheduler("tick"), true);
      assert.deepEqual(await queue.getJobSchedulers(), []);
      await queue.pause();
      const deduplication = { id: "same", ttl: 60_000 };
      const one = await queue.add("once", {}, { deduplication });
      const two = await queue.add("once", {}, { deduplication });
      assert.equal(two.id, one.id);
      assert.equal(await queue.getDeduplicationJobId("same"), one.id);
      await queue.add("own id", {}, { jobId: "mine" });
      await queue.add("own id", {}, { jobId: "mine" });
      assert.equal(await queue.count(), 2);
      await queue.drain();
      assert.equal(await queue.count(), 0);
      await queue.obliterate({ force: true });
      assert.deepEqual(await plain.keys("bull:schedule:*"), []);
    });
  });
}
