// SPDX-License-Identifier: Apache-2.0
// A subscriber to sharded channels of a cluster, with `redis` or `ioredis`, as CLIENT says. It says
// `ready` when it has subscribed to CHANNELS, and then `channel message` for all that it hears.

import { setTimeout as pause } from "node:timers/promises";

import { seeds } from "./cluster_work.js";
import { soon } from "./wait.js";

const channels = process.env.CHANNELS.split(",");
const unheard = () => {};  // what a node that is down makes of its connections
const heard = (message, channel) => process.stdout.write(`${channel} ${message}\n`);

const clients = {
  async redis() {
    const { createCluster } = await import("redis");
    const rootNodes = seeds.map(({ host, port }) => ({ url: `redis://${host}:${port}` }));
    const defaults = { socket: { reconnectStrategy: 100, connectTimeout: 1000 } };
    const cluster = createCluster({ rootNodes, defaults }).on("error", unheard);
    await cluster.connect();
    for (const channel of channels) await cluster.sSubscribe(channel, heard);
  },
  async ioredis() {
    const { Cluster } = await import("ioredis");
    const cluster = new Cluster(seeds, { shardedSubscribers: true, slotsRefreshInterval: 500,
                                         redisOptions: { connectTimeout: 1000 } });
    cluster.on("error", unheard);
    cluster.on("smessage", (channel, message) => heard(message, channel));
    for (const channel of channels) await cluster.ssubscribe(channel);
  },
};

await soon("subscribed", clients[process.env.CLIENT]());
process.stdout.write("ready\n");
for (;;) await pause(1000);
