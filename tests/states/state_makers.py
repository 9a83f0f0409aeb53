# SPDX-License-Identifier: Apache-2.0
"""Puts real servers into each state of table.txt.

A group is a generator. It starts servers, brings the first into a state, yields that, and goes on
to the next state when it is resumed. Each state is entered as a user would meet it: a primary that
is killed, a disk that takes no more, a child process that is stopped in the middle of its work.
"""

import contextlib
import os
import resource
import signal
import socket
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "server"))

from mayfly_server import Mayfly, Redis, free_port  # noqa: E402
from resp_client import Client, Closed, Failure, await_that, request  # noqa: E402

LOADED_COMMANDS = 3_000_000
BALLAST_KEYS = 300_000
LIBRARY = ("#!lua name=states\n"
           "redis.register_function{function_name = 'reads', flags = {'no-writes'},\n"
           "  callback = function() return redis.call('GET', 's') end}\n"
           "redis.register_function('writes', function() redis.call('SET', 's', 1) end)\n")


class Situation:
    """A server in a state, and what its visitor has to do."""

    def __init__(self, name, server, **options):
        self.name = name
        self.server = server
        self.follow = options.get("follow", ["NO", "ONE"])
        self.first = options.get("first", [])        # requests that bring a client into the state
        self.resp3 = options.get("resp3", False)
        self.refresh = options.get("refresh")        # called before each write
        self.lasts = options.get("lasts", False)     # CLIENT UNPAUSE does not end it
        self.pauses = options.get("pauses")          # enters the state; how many seconds it lasts
        self.silence_ends = options.get("silence_ends")  # requests with one reply: replies are on
        self.skips_queues = options.get("skips_queues", False)  # no transactions
        self.at_once = options.get("at_once", False)  # the state is short: send all, then receive
        self.prepared = options.get("prepared", {})  # clients with a queue, made before the state


class Kind:
    """Starts servers of one program."""

    def __init__(self, program):
        self.program = program
        self.name = program.name

    def server(self, *options):
        server = self.program("--repl-diskless-sync-delay", "0", *options)
        # A limit on the size of files ends a process that does not ignore this signal.
        server.command = ["env", "--ignore-signal=XFSZ", *server.command]
        return server


KINDS = (Kind(Mayfly), Kind(Redis))


def seed(server):
    """The keys of commands.txt. What the state before has started must have ended."""
    await_that(lambda: no_child(server), "no child runs")
    with Client(server.port) as client:
        client.ok("FLUSHALL")
        client.ok("SET", "s", "1")
        client.ok("HSET", "h", "f", "1")
        client.ok("FUNCTION", "LOAD", "REPLACE", LIBRARY)


def tell(server, *words):
    with Client(server.port) as client:
        return client.ok(*words)


def asked(server, *words):
    """The reply, which may be an error."""
    with Client(server.port) as client:
        return client.ask(*words)


def queue_all(server, samples):
    """A client for each transaction of commands.txt, in the middle of it."""
    prepared = {}
    for sample in samples:
        if sample.kind.startswith("exec-"):
            client = prepared[sample] = server.client()
            for words in sample.before:
                client.ok(*words)
    return prepared


def client_infos(server, section="persistence"):
    with Client(server.port) as client:
        return client.infos(section)


def no_child(server):
    fields = client_infos(server)
    return not (fields["rdb_bgsave_in_progress"] or fields["aof_rewrite_in_progress"]
                or fields.get("aof_rewrite_scheduled"))


def clients_of_one_server(kind, _):
    """States of a client, and a few of a server that CONFIG SET makes."""
    with kind.server() as server:
        seed(server)
        yield Situation("normal", server)
        seed(server)
        yield Situation("multi", server, first=[["MULTI"]])
        yield Situation("subscribed", server, first=[["SUBSCRIBE", "news"]])
        yield Situation("subscribed-resp3", server, first=[["SUBSCRIBE", "news"]], resp3=True)
        seed(server)
        yield Situation("monitor", server, first=[["MONITOR"]])
        seed(server)
        yield Situation("reply-off", server, resp3=True, first=[["CLIENT", "REPLY", "OFF"]],
                        silence_ends=[["DISCARD"], ["CLIENT", "REPLY", "ON"]])
        seed(server)
        yield Situation("reply-skip", server, resp3=True, first=[["CLIENT", "REPLY", "SKIP"]],
                        silence_ends=[["DISCARD"]], skips_queues=True)
        tell(server, "CONFIG", "SET", "requirepass", "secret")
        yield Situation("no-auth", server)


def waiting_clients(kind, samples):
    """Pauses of everything, WAIT, BZPOPMIN, and what CONFIG SET makes of writes."""
    with kind.server() as server:
        seed(server)
        with server.client() as client:
            prepared = queue_all(server, samples)
            yield Situation("writes-paused", server, prepared=prepared,
                            pauses=lambda: client.ok("CLIENT", "PAUSE", 100_000, "WRITE"))
            client.ok("CLIENT", "UNPAUSE")
        seed(server)
        yield Situation("all-paused", server, at_once=True, pauses=pause_all)
        seed(server)
        yield Situation("in-wait", server, at_once=True, pauses=make_all_wait, skips_queues=True)
        seed(server)
        yield Situation("blocked", server, at_once=True, pauses=block_all, skips_queues=True)
        seed(server)
        prepared = queue_all(server, samples)
        tell(server, "CONFIG", "SET", "min-replicas-to-write", "1")
        yield Situation("few-replicas", server, prepared=prepared)
        tell(server, "CONFIG", "SET", "min-replicas-to-write", "0")


def pause_all(clients, millis):
    with Client(clients[0].socket.getpeername()[1]) as client:
        client.ok("CLIENT", "PAUSE", millis)
    return millis / 1000


def make_all_wait(clients, millis):
    for client in clients:
        client.send("WAIT", 1, millis)
        client.skips = 1  # the reply of WAIT
    return millis / 1000


def block_all(clients, millis):
    for client in clients:
        client.send("BZPOPMIN", "nothing", millis / 1000)
        client.skips = 1  # the reply of BZPOPMIN
    return millis / 1000


def memory(kind, samples):
    with kind.server() as server, server.client() as client:
        seed(server)
        prepared = queue_all(server, samples)
        client.ok("CONFIG", "SET", "maxmemory", "1")
        yield Situation("full", server, prepared=prepared)
        client.ok("CONFIG", "SET", "maxmemory", "0", "maxmemory-policy", "allkeys-random")
        seed(server)
        client.ok("DEBUG", "POPULATE", BALLAST_KEYS, "ballast", "100")
        prepared = queue_all(server, samples)

        evicted = []

        def squeeze():
            fields = client.infos()
            evicted.append(fields["evicted_keys"])
            client.ok("CONFIG", "SET", "maxmemory", fields["used_memory"] - 100_000)

        yield Situation("evicting", server, prepared=prepared, refresh=squeeze)
        if evicted[-1] < 1000:
            raise AssertionError(f"{kind.name} has evicted nothing")


def hold_port(port):
    """Connections to it are refused. No other server of these tests can get it meanwhile."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", port))
    return held


def replicas(kind, samples):
    with kind.server() as primary, kind.server() as replica:
        seed(primary)
        queues = [queue_all(replica, samples) for _ in range(4)]
        follow = ["127.0.0.1", str(primary.port)]
        with replica.client() as client:
            client.ok("REPLICAOF", *follow)
            await_that(lambda: client.infos("replication").get("master_link_status") == "up",
                       replica.log)
            yield Situation("replica", replica, follow=follow, prepared=queues[0])
            client.ok("CONFIG", "SET", "replica-read-only", "no")
            await_that(lambda: no_child(replica), "no child runs")
            yield Situation("replica-writable", replica, follow=follow, prepared=queues[1])
            client.ok("FUNCTION", "LOAD", "REPLACE", LIBRARY)
            client.ok("CONFIG", "SET", "replica-read-only", "yes")
            primary.kill()
            held = hold_port(primary.port)
            await_that(lambda: client.infos("replication")["master_link_status"] == "down",
                       replica.log)
            await_that(lambda: no_child(replica), "no child runs")
            yield Situation("replica-down", replica, follow=follow, prepared=queues[2])
            client.ok("CONFIG", "SET", "replica-serve-stale-data", "no")
            await_that(lambda: no_child(replica), "no child runs")
            yield Situation("replica-stale", replica, follow=follow, prepared=queues[3])
            client.ok("REPLICAOF", "NO", "ONE")
            client.ok("SET", "s", "1")
            held.close()


def loading(kind, _):
    """A long append-only file. If it was not long enough, the visitor asks for a longer one."""
    for factor in (1, 2, 4, 8):
        server = kind.server("--appendonly", "yes")
        os.mkdir(server.path("appendonlydir"))
        with open(server.path("appendonlydir", "appendonly.aof.manifest"), "wb") as file:
            file.write(b"file appendonly.aof.1.incr.aof seq 1 type i\n")
        one = request("SET", "s", "1") * 10_000
        with open(server.path("appendonlydir", "appendonly.aof.1.incr.aof"), "wb") as file:
            for _ in range(LOADED_COMMANDS * factor // 10_000):
                file.write(one)
        with contextlib.ExitStack() as stack:
            stack.callback(server.__exit__, None, None, None)
            server.port = free_port()
            server.spawn()
            if not server.accepts():
                raise AssertionError(f"{kind.name} does not start:\n{server.log()}")
            situation = Situation("loading", server, at_once=True)
            yield situation
            with Client(server.port) as client:
                lasted = client.infos("persistence")["loading"] == 1
            server.kill()
        if lasted:
            return
        situation.is_void = True
    raise AssertionError("no file takes long enough to load")


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


@contextlib.contextmanager
def stopped_child(server, *words):
    """Has the server start a child by this request, and stops the child in its work."""
    child = 0
    for _ in range(20):
        await_that(lambda: no_child(server), "no child runs")
        tell(server, *words)
        found = await_that(lambda: children_of(server.process.pid) or no_child(server), "a child")
        if found is not True:
            child = found[0]
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGSTOP)
            if not no_child(server):
                break
    else:
        raise AssertionError("the child is always faster")
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGCONT)


def children(kind, samples):
    with kind.server() as server, server.client() as client:
        def fill():
            seed(server)
            client.ok("DEBUG", "POPULATE", BALLAST_KEYS, "ballast", "100")
            return queue_all(server, samples)

        prepared = fill()
        with stopped_child(server, "BGSAVE"):
            yield Situation("saving", server, prepared=prepared)
        await_that(lambda: no_child(server), "the child has ended")
        prepared = fill()
        with stopped_child(server, "CONFIG", "SET", "appendonly", "yes"):
            yield Situation("log-starting", server, prepared=prepared)
        await_that(lambda: no_child(server), "the child has ended")
        prepared = fill()
        with stopped_child(server, "BGREWRITEAOF"):
            yield Situation("rewriting", server, prepared=prepared)
        await_that(lambda: no_child(server), "the child has ended")


def disks(kind, samples):
    with kind.server("--appendonly", "yes") as server, server.client() as client:
        seed(server)
        await_that(lambda: no_child(server), "no child runs")
        prepared = queue_all(server, samples)
        pid, limit = server.process.pid, resource.RLIMIT_FSIZE
        before = resource.prlimit(pid, limit)
        resource.prlimit(pid, limit, (1, before[1]))
        with contextlib.suppress(Closed):  # what was not written must not be confirmed
            client.ask("SET", "s", "2")
        await_that(lambda: client_infos(server)["aof_last_write_status"] == "err",
                   "the append-only file has failed")
        yield Situation("log-failing", server, prepared=prepared)
        resource.prlimit(pid, limit, before)
        await_that(lambda: asked(server, "SET", "s", "3") == "OK", "writes are taken again")

    with kind.server() as server, server.client() as client:
        seed(server)
        prepared = queue_all(server, samples)
        os.mkdir(server.path("dump.rdb"))
        client.ok("CONFIG", "SET", "save", "3600 1")
        client.ok("BGSAVE")
        await_that(lambda: client.infos("persistence")["rdb_last_bgsave_status"] == "err",
                   "the snapshot has failed")
        yield Situation("snapshot-failed", server, prepared=prepared)
        client.ok("CONFIG", "SET", "save", "")
        os.rmdir(server.path("dump.rdb"))
        await_that(lambda: no_child(server), "no child runs")
        client.ok("BGSAVE")
        await_that(lambda: client.ask("SET", "s", "3") == "OK", "writes are taken again")


def shutting_down(kind, samples):
    with kind.server("--shutdown-timeout", "1000") as server, kind.server() as replica:
        seed(server)
        tell(replica, "REPLICAOF", "127.0.0.1", server.port)
        await_that(lambda: tell(server, "WAIT", "1", "10") == 1, "the replica is there")
        prepared = queue_all(server, samples)
        replica.process.send_signal(signal.SIGSTOP)
        tell(server, "SET", "s", "1")
        asker = server.client()
        asker.send("SHUTDOWN", "NOSAVE")
        await_that(lambda: "aiting" in server.log(), "it waits for its replica")
        yield Situation("shutting-down", server, prepared=prepared, lasts=True)
        tell(server, "SHUTDOWN", "ABORT")
        if not isinstance(asker.receive(), Failure):
            raise AssertionError("an aborted SHUTDOWN must fail")
        replica.process.send_signal(signal.SIGCONT)


def busy(kind, samples):
    with kind.server("--busy-reply-threshold", "10") as server:
        seed(server)
        prepared = queue_all(server, samples)
        observer, caller = server.client(), server.client()
        caller.send("EVAL", "redis.call('SET', 's', 1) while true do end", 0)
        await_that(lambda: str(observer.ask("PING")).startswith("BUSY"), "the script is busy")
        yield Situation("busy", server, prepared=prepared)
        server.kill()  # nothing else ends it but SHUTDOWN NOSAVE


GROUPS = (clients_of_one_server, waiting_clients, memory, replicas, loading, children, disks,
          shutting_down, busy)


def seconds():
    return time.monotonic()
