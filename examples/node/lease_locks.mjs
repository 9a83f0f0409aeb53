// SPDX-License-Identifier: Apache-2.0
// Locks with leases: only one process does the work, and a crash of that one stops nobody for long.
//
// A lock is a key with a TTL, set only if it is absent. A holder that lives renews it; one that
// crashed does not, and then the deadline opens the lock: nobody has to find out who died.
//
// A lease can end without its holder noticing: it was suspended, say. So the lock's value tells
// whose it is, and who renews or releases it looks first. WATCH sees to it that the lock has not
// changed hands between the look and the deed; DELIFEQ would do the same for a release in one
// command. And each lease has a number, greater than all before it: what the lock protects refuses
// one that is out of date.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { createClient, WatchError } from "redis";

const LEASE_MS = 10_000;
const LOCK = "example:lock";
const LEASES = "example:leases";

class Worker {
  // A connection of its own, since WATCH belongs to the connection.
  constructor() {
    this.client = createClient({ url: `redis://127.0.0.1:${process.env.PORT ?? 6379}` });
    this.client.on("error", (error) => {
      console.error(error.message); // connect ECONNREFUSED, say: is there a server?
      process.exit(1); // a program that is to go on logs it: the client connects again by itself
    });
    this.name = randomUUID();
  }

  // The number of the new lease; null while somebody else has the lock. In one transaction, so that
  // the order of numbers is the order of leases.
  async acquire() {
    const options = { condition: "NX", expiration: { type: "PX", value: LEASE_MS } };
    const [number, taken] =
      await this.client.multi().incr(LEASES).set(LOCK, this.name, options).exec();
    return taken === "OK" ? number : null;
  }

  // Whether the lease goes on, or could be ended. Not if it has ended, whose the lock may be now.
  renew() {
    return this.ifMine((transaction) => transaction.pExpire(LOCK, LEASE_MS));
  }
  release() {
    return this.ifMine((transaction) => transaction.del(LOCK));
  }

  async ifMine(change) {
    await this.client.watch(LOCK);
    if ((await this.client.get(LOCK)) !== this.name) {
      await this.client.unwatch();
      return false;
    }
    try {
      const [changed] = await change(this.client.multi()).exec();
      return changed === 1;
    } catch (error) {
      if (error instanceof WatchError) return false; // it ended just now
      throw error;
    }
  }
}

// What the lock protects.
const report = {
  newest: 0,
  write(number) {
    if (number < this.newest) return false;
    this.newest = number;
    return true;
  },
};

function claim(what, holds) {
  assert.ok(holds, what);
  console.log(`  yes: ${what}`);
}

const ann = new Worker();
const bob = new Worker();
for (const worker of [ann, bob]) await worker.client.connect();
await ann.client.del([LOCK, LEASES]);

const first = await ann.acquire();
claim("ann has the lock, bob has not", first > 0 && (await bob.acquire()) === null);
await ann.client.pExpire(LOCK, 2_000); // instead of waiting for 8 s
claim("ann renews her lease", await ann.renew());
claim("so she has ten seconds again", (await bob.client.pTTL(LOCK)) > 2_000);

await ann.client.pExpire(LOCK, 1); // ann is suspended, and her lease ends
while (await bob.client.exists(LOCK)) await pause(2);
const second = await bob.acquire();
claim("bob gets the lock, with a greater number", second > first && report.write(second));
claim("ann wakes up: she can't renew", !(await ann.renew()));
claim("nor release what is now bob's", !(await ann.release()));
claim("nor write", !report.write(first));
claim("bob releases the lock", await bob.release());
claim("and it is free at once", (await ann.acquire()) > second);
await ann.client.del([LOCK, LEASES]);
for (const worker of [ann, bob]) await worker.client.close();
