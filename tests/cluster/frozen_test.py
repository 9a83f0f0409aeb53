#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A primary that is stopped for some time, with requests in its sockets. Bar: not one OK after the
takeover, and nothing of what waited there is done.

    MAYFLY=build/release/mayfly python3 tests/cluster/frozen_test.py [--long]

--long: for 30 s, three times, too. By then etcd has forgotten the process.
"""

import sys
import unittest

import cluster  # noqa: F401 (it says where the others are)
from cluster_client import Connection, now
from failover_test import Disturbed, FaultCase
from resp_client import Closed, Failure, pause

IN_SOCKETS = 40
BRIEFLY_S = 1.6  # nobody is replaced who was stopped for less
LONG_S, LONG_TIMES = 30, 3
IS_LONG = "--long" in sys.argv


class FrozenTest(FaultCase):
    def freeze(self, seconds, is_replaced):
        """Replies to what was sent to a primary while it was stopped."""
        node = self.cluster.primary_of(self.key)
        with self.load():
            sockets = [Connection(node.address(), patience=10) for _ in range(IN_SOCKETS)]
            for connection in sockets:
                self.assertEqual(connection.ask("SET", self.name_of("first"), 1), "OK")
            begin = now()
            before = self.cluster.freeze_primary(self.shard)
            self.assertEqual(before.primary, node.place())
            for number, connection in enumerate(sockets):
                connection.send("SET", self.name_of("stale"), number)
            if is_replaced:
                self.await_takeover(before.epoch)
            pause(max(0, seconds - (now() - begin)))
            node.thaw()
            lasted = now() - begin
            replies = [self.reply(connection) for connection in sockets]
            for connection in sockets:
                connection.close()
        accepted = sum(reply == "OK" for reply in replies)
        print(f"stopped for {seconds} s: {accepted} of {IN_SOCKETS} writes were accepted")
        if not is_replaced and lasted > BRIEFLY_S:
            raise Disturbed(f"it was stopped for {lasted:.2f} s")
        self.assertEqual(self.record().epoch > before.epoch, is_replaced)
        return replies

    def name_of(self, what):
        return "{" + self.key + "}" + what

    def reply(self, connection):
        try:
            return connection.receive()
        except Closed:
            return None

    def value(self):
        client = self.cluster.client()
        try:
            return client.one(self.key, "GET", self.name_of("stale"))
        finally:
            client.close()

    def check_replaced(self, seconds):
        replies = self.freeze(seconds, is_replaced=True)
        self.assertEqual([reply for reply in replies if reply == "OK"], [], "stale +OK")
        self.assertIsNone(self.value())

    def test_for_a_second(self):
        """That is shorter than the lease: it goes on, and does what waited."""
        self.calmly(self.stop_for_a_second)

    def stop_for_a_second(self):
        replies = self.freeze(1, is_replaced=False)
        refused = [reply for reply in replies if reply != "OK"]
        self.assertTrue(all(reply is None or isinstance(reply, Failure) for reply in refused))
        if not refused:
            self.assertIsNotNone(self.value())

    def test_for_longer_than_the_grace(self):
        self.check_replaced(3)

    @unittest.skipUnless(IS_LONG, "takes minutes (--long)")
    def test_for_long(self):
        for number in range(LONG_TIMES):
            self.cluster.revive()
            self.choose_keys(f"for_long_{number}")
            self.check_replaced(LONG_S)


if __name__ == "__main__":
    unittest.main(argv=[word for word in sys.argv if word != "--long"])
