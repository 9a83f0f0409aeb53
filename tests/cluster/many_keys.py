# SPDX-License-Identifier: Apache-2.0
"""Requests about several keys, all keys or functions, for a Recorder (cluster_client.py).

A *group* is keys of one slot that are written together with one value: see history.py.

    write(recorder, "tag", "script")     # a way of WRITES
    read(recorder, "tag", "exec")        # a way of READS
    swap(recorder, "tag", "function")    # a way of SWAPS
    flush(recorder, "tag")               # FLUSHALL at the primary of that slot
    load_library(recorder, "tag")        # its functions
"""

from cluster_client import RETRIED, WAIT_MS
from history import DEL, FLUSH, GET, OK, REFUSED, SET, UNKNOWN, Op
from resp_client import Failure

# Scripts name one key of the group, or a key that is not used.
WRITE_SCRIPT = "return redis.call('MSET', ARGV[1], ARGV[3], ARGV[2], ARGV[3])"
READ_SCRIPT = "return redis.call('MGET', ARGV[1], ARGV[2])"
SWAP_SCRIPT = ("local old = redis.call('MGET', ARGV[1], ARGV[2]) "
               "redis.call('MSET', ARGV[1], ARGV[3], ARGV[2], ARGV[3]) return old")

LIBRARY = """#!lua name=torture
local function version() return '%s' end
local function write(_, ARGV) %s end
local function read(_, ARGV) %s end
local function swap(_, ARGV) %s end
redis.register_function('write', write)
redis.register_function('swap', swap)
redis.register_function{function_name='read', callback=read, flags={'no-writes'}}
redis.register_function{function_name='version', callback=version, flags={'no-writes'}}
"""
NO_FUNCTION = "ERR Function not found"


def keys_of(tag):
    return f"{{{tag}}}1", f"{{{tag}}}2"


def script(text, tag, *args):
    return [("EVAL", text, 1, keys_of(tag)[0], *keys_of(tag), *args)]


def elsewhere(text, tag, *args):
    """It names another key than those that it uses."""
    return [("EVAL", text, 1, f"{{{tag}}}other", *keys_of(tag), *args)]


def function(name, tag, *args):
    return [("FCALL", name, 1, f"{{{tag}}}other", *keys_of(tag), *args)]


def transaction(*requests):
    return [("MULTI",), *requests, ("EXEC",)]


WRITES = {
    "mset": lambda tag, value: [("MSET", *sum(((key, value) for key in keys_of(tag)), ()))],
    "exec": lambda tag, value: transaction(*[("SET", key, value) for key in keys_of(tag)]),
    "script": lambda tag, value: script(WRITE_SCRIPT, tag, value),
    "elsewhere": lambda tag, value: elsewhere(WRITE_SCRIPT, tag, value),
    "script in exec": lambda tag, value: transaction(*elsewhere(WRITE_SCRIPT, tag, value)),
    "function": lambda tag, value: function("write", tag, value),
}
READS = {
    "get": lambda tag: [("GET", keys_of(tag)[1])],
    "mget": lambda tag: [("MGET", *keys_of(tag))],
    "exec": lambda tag: transaction(*[("GET", key) for key in keys_of(tag)]),
    "script": lambda tag: script(READ_SCRIPT, tag),
    "eval_ro": lambda tag: [("EVAL_RO", *elsewhere(READ_SCRIPT, tag)[0][1:])],
    "script in exec": lambda tag: transaction(*elsewhere(READ_SCRIPT, tag)),
    "function": lambda tag: function("read", tag),
}
SWAPS = {
    "script": lambda tag, value: script(SWAP_SCRIPT, tag, value),
    "elsewhere": lambda tag, value: elsewhere(SWAP_SCRIPT, tag, value),
    "function": lambda tag, value: function("swap", tag, value),
    "exec": lambda tag, value: transaction(("MGET", *keys_of(tag)), *WRITES["mset"](tag, value)),
}


def send(recorder, tag, requests, wait=False):
    """The answer, and the reply to the request proper or None."""
    asked = [*requests, ("WAIT", 1, WAIT_MS)] if wait else requests
    answer = recorder.client.ask(f"{{{tag}}}", *asked)
    if answer is None or len(answer.replies) < len(requests):
        return answer, None
    reply = answer.replies[len(requests) - 1]
    if isinstance(reply, list) and len(reply) == 1 and len(requests) > 1:
        reply = reply[0]  # of the only command between MULTI and EXEC
    return answer, reply


def note(recorder, tag, kind, value, answer, reply, count, **more):
    """An Op of the group, or of the functions of a shard. `count`: of requests, without WAIT."""
    op = Op(more.pop("key", f"{{{tag}}}"), kind, value, answer.begin, owner=answer.owner, **more)
    if reply is None:
        op.outcome = UNKNOWN
    else:
        op.end = answer.times[count - 1]
        if isinstance(reply, Failure):
            op.outcome = REFUSED
            is_expected = reply.split(" ")[0] in (*RETRIED, "EXECABORT") or (
                "non local key" in reply or reply.startswith(NO_FUNCTION))
            if not is_expected:
                recorder.errors.append(f"{op.brief()}: {reply}")
    if op.outcome == OK and kind != GET and len(answer.replies) > count:
        safe = answer.replies[count]
        if isinstance(safe, int) and safe >= 1:
            op.safe_at = answer.times[count]
    recorder.ops.append(op)
    return op


def write(recorder, tag, way, wait=False):
    value = recorder.new_value()
    requests = WRITES[way](tag, value)
    answer, reply = send(recorder, tag, requests, wait)
    return answer and note(recorder, tag, SET, value, answer, reply, len(requests))


def delete(recorder, tag, wait=False):
    requests = [("DEL", *keys_of(tag))]
    answer, reply = send(recorder, tag, requests, wait)
    return answer and note(recorder, tag, DEL, None, answer, reply, 1)


def values_of(reply):
    """What was read of each key."""
    if not isinstance(reply, list):
        reply = [reply]
    if reply and isinstance(reply[0], list):  # EXEC with MGET and a write
        reply = reply[0]
    return tuple(value.decode() if isinstance(value, bytes) else value for value in reply)


def read(recorder, tag, way):
    requests = READS[way](tag)
    answer = recorder.client.ask(f"{{{tag}}}", *requests)
    if answer is None:
        return None
    if len(answer.replies) < len(requests):
        return note(recorder, tag, GET, None, answer, None, len(requests))
    reply = answer.replies[-1]
    if isinstance(reply, Failure):
        return note(recorder, tag, GET, None, answer, reply, len(requests))
    values = values_of(reply)
    return note(recorder, tag, GET, values[0], answer, "", len(requests), values=values)


def swap(recorder, tag, way, wait=False):
    """Writes a new value, and reads what it replaces."""
    value = recorder.new_value()
    requests = SWAPS[way](tag, value)
    answer, reply = send(recorder, tag, requests, wait)
    if answer is None:
        return None
    if reply is not None and not isinstance(reply, Failure):
        values = values_of(reply)
        note(recorder, tag, GET, values[0], answer, "", len(requests), values=values, swap=value)
    return note(recorder, tag, SET, value, answer, reply, len(requests), swap=value)


def flush(recorder, tag):
    """Its value is its name."""
    answer, reply = send(recorder, tag, [("FLUSHALL",)])
    if answer is None:
        return None
    value = recorder.new_value()
    return note(recorder, tag, FLUSH, value, answer, reply, 1, flush=value)


def load_library(recorder, tag, wait=False):
    """The code of its functions returns the value. load.py replaces the key: it names the shard."""
    value = recorder.new_value()
    code = LIBRARY % (value, WRITE_SCRIPT, READ_SCRIPT, SWAP_SCRIPT)
    answer, reply = send(recorder, tag, [("FUNCTION", "LOAD", "REPLACE", code)], wait)
    return answer and note(recorder, tag, SET, value, answer, reply, 1, key="functions")


def read_library(recorder, tag):
    answer, reply = send(recorder, tag, [("FCALL", "version", 1, f"{{{tag}}}other")])
    if answer is None:
        return None
    if isinstance(reply, Failure) and reply.startswith(NO_FUNCTION):
        return note(recorder, tag, GET, None, answer, "", 1, key="functions")
    value = reply.decode() if isinstance(reply, bytes) else None
    return note(recorder, tag, GET, value, answer, reply, 1, key="functions")
