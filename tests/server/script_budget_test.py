#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scripts that spend their time in library functions and operators, not in their own lines: other
clients get BUSY, and SCRIPT KILL ends them. Also FUNCTION LOAD, and a file that is loaded.

    MAYFLY=build/release/mayfly python3 tests/server/script_budget_test.py
"""

import pathlib
import unittest

from mayfly_server import Mayfly
from resp_client import Failure, await_that, request

TEXT = "local s = ('x'):rep(2e7) "
SCRIPTS = (
    "return ('('):rep(1e6):find('%b()')",
    "while true do local t = ('y'):rep(1e8) end",
    "local s = ('x'):rep(1e6) local t = {} for i = 1, 70 do t[i] = s end "
    "while true do table.concat(t) end",
    TEXT + "local a, b = s .. 'a', s .. 'b' while true do local c = a < b end",
    TEXT + "while true do local t = s .. s end",
    TEXT + "while true do local t = s:sub(2) end",
    TEXT + "while true do local t = s:upper() end",
    TEXT + "while true do s:find('y', 1, true) end",
    TEXT + "while true do string.format('%s%q', s, s) end",
    TEXT + "while true do redis.sha1hex(s) end",
    TEXT + "while true do cjson.decode(cjson.encode(s)) end",
    TEXT + "while true do cmsgpack.unpack(cmsgpack.pack(s)) end",
    TEXT + "while true do struct.unpack('s', struct.pack('s', s)) end",
    "local s = ('1'):rep(1e7) while true do local n = s + 1 end",
    "local s = ('1'):rep(1e7) while true do local n = tonumber(s, 36) end",
    "local s = ('x = 1 '):rep(1e5) while true do loadstring(s) end",
    "local t = {} for i = 1, 2e6 do t[i .. ''] = i end for k in pairs(t) do t[k] = nil end "
    "while true do next(t) end",
    "local t = {} for i = 1, 2e6 do t[i] = i end while true do table.insert(t, 1, 0) t[#t] = nil "
    "end",
    "local t = {} for i = 1, 1e6 do t[i] = -i end while true do table.sort(t) t[1] = 0 end",
    "local t = {} for i = 1, 1e6 do t[i] = {} end while true do collectgarbage() end",
    "while true do local t = {} for i = 1, 1e6 do t[i] = {} end end",
    "local t = {1} for i = 1, 40 do t = {t, t} end return t",
    "while true do pcall(string.rep, 'x', 5e7) end",
)
LIBRARY = ("#!lua name=endless\n"
           "local s = ('x'):rep(1e7) while true do s:upper() end\n"
           "redis.register_function('f', function() end)\n")


class ScriptBudgetTest(unittest.TestCase):
    def start(self, *options):
        return self.enterContext(Mayfly("--busy-reply-threshold", "100", *options))

    def test_each_script_is_busy_and_can_be_killed(self):
        server = self.start()
        other = server.client()
        for script in SCRIPTS:
            with self.subTest(script=script), server.client() as client:
                client.send("EVAL", script, 0)
                await_that(lambda: str(other.ask("PING")).startswith("BUSY"), "it is busy")
                other.ok("SCRIPT", "KILL")
                reply = client.receive()
                self.assertIsInstance(reply, Failure)
                self.assertIn("Script killed by user with SCRIPT KILL", str(reply))
                self.assertEqual(other.ask("PING"), "PONG")

    def test_a_library_that_has_no_end_is_refused(self):
        client = self.start().client()
        reply = client.ask("FUNCTION", "LOAD", LIBRARY)
        self.assertIn("FUNCTION LOAD timeout", str(reply))

    def test_a_server_can_be_stopped_while_it_loads_such_a_script(self):
        server = self.start("--appendonly", "yes")
        server.client().ok("SET", "k", "v")
        server.stop()
        (log,) = pathlib.Path(server.path("appendonlydir")).glob("*.incr.aof")
        with log.open("ab") as file:
            file.write(request("EVAL", SCRIPTS[0], 0))
        server.spawn()
        await_that(lambda: "Slow script of the append-only file" in server.log(), server.log)
        client = server.client()
        self.assertTrue(str(client.ask("GET", "k")).startswith("LOADING"))
        client.send("SHUTDOWN", "NOSAVE")
        self.assertEqual(server.process.wait(60), 0)
        server.ended = True


if __name__ == "__main__":
    unittest.main()
