# SPDX-License-Identifier: Apache-2.0
"""A fault of the torture: etcd is restored from a snapshot that is older than the last takeovers,
while nodes are killed, frozen and started. Never do two servers answer for a slot; and after
`mayfly cluster accept` all that was safe is there."""

import contextlib

from cluster_client import Connection, now
from etcd_servers import NoAnswer
from resp_client import Closed, Failure, await_that, pause
from restored_etcd import EtcdBackup, end_by_the_book, owners, probes

SECONDS = 12  # of faults after the restore
ANSWER_S = 5
OLD_PROMISES_S = 3  # who was replaced before the restore has stopped


def write_safely(node, key, value):
    """Whether a replica has it. WAIT counts the writes of the same connection."""
    with contextlib.suppress(OSError, Closed, TypeError):  # no answer
        with contextlib.closing(Connection(node.address(), ANSWER_S)) as client:
            return client.ask("SET", key, value) == "OK" and client.ask("WAIT", 1, 2000) >= 1
    return False


def put(cluster, key, value):
    """Until it is safe."""
    await_that(lambda: write_safely(cluster.primary_of(key), key, value), cluster.told)


def restore_under_faults(cluster, chance, say):
    """What was wrong."""
    keys = probes(cluster)
    backup = EtcdBackup(cluster.etcd)
    backup.save()
    for _ in range(chance.randint(1, 2)):
        for shard in list(cluster.records()):
            node = cluster.node_at(cluster.kill_primary(shard).primary)
            node.restart()
        cluster.await_ok()
        cluster.await_in_sync()
    values = {"{" + key + "}safe": str(chance.random()) for key in keys.values()}
    for key, value in values.items():
        put(cluster, key, value)
    token = chance.choice([None, f"token-{chance.random()}"])
    say(f"etcd restored, {'with another id' if token else 'with its id'}")
    backup.restore(token)
    pause(OLD_PROMISES_S)
    problems, frozen, end = [], [], now() + SECONDS
    while now() < end and not problems:
        node = chance.choice(cluster.nodes)
        act = chance.choice(["kill", "freeze", "thaw", "look", "look", "look"])
        if act == "kill" and not node.is_frozen:
            node.kill()
            node.restart()
        elif act == "freeze" and not node.is_frozen and not frozen:
            node.freeze()
            frozen.append(node)
        elif act == "thaw" and frozen:
            frozen.pop().thaw()
        for shard, key in keys.items():
            problems += second_owner(cluster, shard, key)
    for node in frozen:
        node.thaw()
    end_by_the_book(cluster)
    for key, value in values.items():
        found = await_that(lambda one=key: [cluster.primary_of(one).told("GET", one)], cluster.told)
        if isinstance(found[0], Failure) or found[0] != value.encode():
            problems.append(f"{key} was {value} and safe, and is {found[0]} after accept")
    return problems


def second_owner(cluster, shard, key):
    """Two that answer by turns: one of them was not replaced by the other."""
    with contextlib.suppress(NoAnswer):
        found = owners(cluster, key)
        for _ in range(3):
            if len(found) < 2:
                return []
            found = [node for node in owners(cluster, key) if node in found]
        return [f"shard {shard}: {[node.place() for node in found]} all answer +OK\n"
                + "\n".join(node.all_logs()[-3000:] for node in found)]
    return []
