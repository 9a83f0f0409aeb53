# SPDX-License-Identifier: Apache-2.0
"""Servers that follow each other, and waiting until they agree."""

import os
import sys
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("server", "persist"):
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), folder))

from contents import contents, difference  # noqa: E402
from mayfly_server import Mayfly  # noqa: E402
from resp_client import Client, await_that  # noqa: E402

# Tests do not wait for things that are only waited for to save a fork.
QUICK = ("--repl-diskless-sync-delay", "0")


def ask(server, *words):
    """The reply, over a connection of its own."""
    with Client(server.port) as client:
        return client.ok(*words)


def info_of(server, section="replication"):
    with Client(server.port) as client:
        return client.infos(section)


def follow(replica, primary_port, *before):
    for words in before:
        ask(replica, *words)
    ask(replica, "REPLICAOF", "127.0.0.1", primary_port)


def is_up(replica):
    return info_of(replica).get("master_link_status") == "up"


def await_up(replica):
    await_that(lambda: is_up(replica),
               lambda: f"the link is up: {info_of(replica)}\n{replica.log()}")


def offset_of(server):
    return info_of(server)["master_repl_offset"]


def await_caught_up(primary, replica):
    """Until the replica's link is up and it has come as far as the primary, which is quiet but for
    pings."""
    await_that(lambda: is_up(replica) and offset_of(primary) == offset_of(replica),
               lambda: f"the replica catches up: {info_of(primary)} {info_of(replica)}\n"
                       f"{replica.log()}")


def await_same(primary, *replicas):
    """Until all have the same data, deadlines included, and are as far as the primary. What is due
    is removed by the primary meanwhile, which the others hear of."""
    for replica in replicas:
        await_caught_up(primary, replica)

    def agree():
        return len({ask(server, "DEBUG", "DIGEST") for server in (primary, *replicas)}) == 1

    await_that(agree, lambda: "\n".join(
        ["the data are the same"] + [compare(primary, replica) for replica in replicas]))


def held_by(server, has_member_deadlines=True):
    with Client(server.port) as client:
        return contents(client, 16, has_member_deadlines)


def without_reads(entries):
    """Redis 7.0 does not tell its replicas how many entries a group has read."""
    def forget(entry):
        if entry.kind != "stream":
            return entry
        groups = tuple(group._replace(read=None) for group in entry.value.groups)
        return entry._replace(value=entry.value._replace(groups=groups))

    return {place: forget(entry) for place, entry in entries.items()}


def compare(primary, replica):
    return (f"{primary.port} and {replica.port}:\n"
            f"{difference(held_by(primary), held_by(replica))}\n{replica.log()[-3000:]}")


class ReplicationCase(unittest.TestCase):
    def start(self, kind=Mayfly, *options, primary=None):
        server = self.enterContext(kind(*QUICK, *options))
        if primary is not None:
            follow(server, primary.port)
            await_up(server)
        return server

    def assert_same_contents(self, primary, replica, has_member_deadlines=False):
        """As soon as nothing is about to expire."""
        await_caught_up(primary, replica)

        def unlike():
            return difference(*(without_reads(held_by(server, has_member_deadlines))
                                for server in (primary, replica)))

        await_that(lambda: not unlike(), unlike)

    def syncs(self, server):
        """(full, partial) synchronisations that it gave."""
        info = info_of(server, "stats")
        return info["sync_full"], info["sync_partial_ok"]


class Background:
    """Calls work() again and again in another thread, until the block ends. What it raises, the
    block does."""

    def __init__(self):
        self.is_over = False
        self.error = None
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.thread.join()
        if self.error:
            raise self.error

    def run(self):
        try:
            while not self.is_over:
                self.work()
        except BaseException as error:  # it is told by the thread that waits
            self.error = error
