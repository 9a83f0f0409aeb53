#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What INFO and CLIENT LIST say about the bytes that went over the wire, in both directions."""

import re
import unittest

from mayfly_server import Mayfly
from resp_client import await_that

LARGE = 10_000  # far more than all other requests and replies of a test together


class TrafficTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(Mayfly())
        self.client = self.server.client()

    def exchange(self, client):
        client.ok("SET", "k", "x" * LARGE)
        client.ok("GET", "k")

    def test_both_directions_are_counted(self):
        self.exchange(self.client)
        for field in ["total_net_input_bytes", "total_net_output_bytes"]:
            self.assertTrue(LARGE < self.client.info(field) < 2 * LARGE, field)

    def test_a_connection_that_is_closed_still_counts(self):
        other = self.server.client()
        self.exchange(other)
        other.close()
        await_that(lambda: self.client.info("connected_clients") == 1, "it is closed")
        self.assertGreater(self.client.info("total_net_output_bytes"), LARGE)

    def test_a_connection_knows_its_own(self):
        self.exchange(self.client)
        line = self.server.client().ok("CLIENT", "LIST", "ID", str(self.client.ok("CLIENT", "ID")))
        sent = int(re.search(rb"tot-net-out=(\d+)", line)[1])
        self.assertTrue(LARGE < sent < 2 * LARGE, line)

    def test_resetstat_begins_anew_for_open_connections_too(self):
        self.exchange(self.client)
        self.client.ok("CONFIG", "RESETSTAT")
        for field in ["total_net_input_bytes", "total_net_output_bytes"]:
            self.assertLess(self.client.info(field), LARGE, field)


if __name__ == "__main__":
    unittest.main()
