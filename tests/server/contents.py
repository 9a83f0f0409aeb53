# SPDX-License-Identifier: Apache-2.0
"""All that a server holds, read with ordinary commands, so that servers can be compared.

    contents(client)[3, b"key"]     # Entry(kind="string", value=b"...", deadline=-1, deadlines={})

When consumers of a stream were seen is left out: a replica is not told.
"""

import json
import time
from typing import NamedTuple

from resp_client import Failure

AT_ONCE = 200
READING = {"string": ("GET",), "hash": ("HGETALL",), "set": ("SMEMBERS",),
           "zset": ("ZRANGE", 0, -1, "WITHSCORES"), "list": ("LRANGE", 0, -1),
           "stream": ("XINFO STREAM", "FULL", "COUNT", 0)}
NAMES = {"hash": ("HKEYS",), "set": ("SMEMBERS",), "zset": ("ZRANGE", 0, -1)}
DEADLINES = {"hash": "HPEXPIRETIME", "set": "SPEXPIRETIME", "zset": "ZPEXPIRETIME"}


class Entry(NamedTuple):
    kind: str
    value: object  # bytes, or {name: value}: the score of a sorted set, None of a set. A tuple for
                   # a list, a StreamValue for a stream. None for kinds that only others have
    deadline: int  # -1: none
    deadlines: dict  # of members that have one


class StreamValue(NamedTuple):
    entries: tuple  # of (id, field, value ...)
    last_id: bytes
    deleted_id: bytes  # the greatest one
    added: int
    groups: tuple


class GroupValue(NamedTuple):
    name: bytes
    last_id: bytes
    read: int  # entries; -1: unknown
    consumers: tuple
    pending: tuple  # of (id, consumer, time, deliveries)


def now_ms():
    return int(time.time() * 1000)


def contents(client, databases=16, has_member_deadlines=True):
    """{(database, key): Entry} of what is visible. What expires meanwhile may be in it or not, but
    each entry is of one moment."""
    found = {}
    for database in range(databases):
        client.ok("SELECT", database)
        keys = client.ok("KEYS", "*")
        for first in range(0, len(keys), AT_ONCE):
            part = keys[first:first + AT_ONCE]
            for key, entry in zip(part, entries(client, part, has_member_deadlines)):
                if entry is not None:
                    found[database, key] = entry
    client.ok("SELECT", 0)
    return found


def on(command, key):
    return (*command[0].split(), key, *command[1:])


def entries(client, keys, has_member_deadlines):
    kinds = [str(kind) for kind in client.pipeline(("TYPE", key) for key in keys)]
    grouped = [(key, NAMES[kind]) for key, kind in zip(keys, kinds) if kind in NAMES]
    replies = client.pipeline(on(command, key) for key, command in grouped)
    names = {key: reply for (key, _), reply in zip(grouped, replies)
             if not isinstance(reply, Failure)}
    requests = [("MULTI",)]
    for key, kind in zip(keys, kinds):
        requests.append(("TYPE", key))
        requests.append(("PEXPIRETIME", key))
        requests.append(on(READING.get(kind, ("EXISTS",)), key))
        asked = names.get(key) if has_member_deadlines else None
        requests.append((DEADLINES[kind], key, "FIELDS", len(asked), *asked) if asked
                        else ("EXISTS", key))
    replies = client.pipeline([*requests, ("EXEC",)], at_once=len(requests) + 1)[-1]
    if isinstance(replies, Failure):
        raise AssertionError(replies)
    return [entry_of(names.get(key, []), *replies[4 * number:4 * number + 4])
            for number, key in enumerate(keys)]


def entry_of(names, kind, deadline, value, deadlines):
    if kind == "none":
        return None
    if kind == "string":
        return Entry("string", value, deadline, {})
    if kind == "list":
        return Entry("list", tuple(value), deadline, {})
    if kind == "stream":
        return Entry("stream", stream_of(paired(value)), deadline, {})
    if kind not in READING:
        return Entry(str(kind), None, deadline, {})
    times = zip(names, deadlines) if isinstance(deadlines, list) else []
    return Entry(str(kind), members_of(kind, value), deadline,
                 {name: time for name, time in times if time >= 0})


def members_of(kind, reply):
    if kind == "set":
        return dict.fromkeys(reply)
    pairs = zip(reply[::2], reply[1::2])
    return {name: float(text) for name, text in pairs} if kind == "zset" else dict(pairs)


def paired(reply):
    return dict(zip((name.decode() for name in reply[::2]), reply[1::2]))


def stream_of(info):
    """From the reply of XINFO STREAM FULL."""
    return StreamValue(tuple((entry_id, *words) for entry_id, words in info["entries"]),
                       info["last-generated-id"], info["max-deleted-entry-id"],
                       info["entries-added"], tuple(map(group_of, map(paired, info["groups"]))))


def group_of(info):
    read = -1 if info["entries-read"] is None else info["entries-read"]
    return GroupValue(info["name"], info["last-delivered-id"], read,
                      tuple(sorted(paired(consumer)["name"] for consumer in info["consumers"])),
                      tuple(map(tuple, info["pending"])))


def golden(path):
    """What a file of tests/data/golden says, in the same form: see the README there."""
    with open(path, encoding="utf-8") as file:
        said = json.load(file)
    if "db0" in said:  # of an append-only folder
        lines = [(int(name[2:]), key, entry) for name, entries_ in said.items()
                 for key, entry in entries_.items()]
    else:
        lines = [(entry["db"], key.removeprefix(f"{entry['db']}:") if entry["db"] else key, entry)
                 for key, entry in said.items()]
    return {(database, raw(key)): golden_entry(entry) for database, key, entry in lines}


def golden_entry(said):
    deadlines = {raw(name): time for name, time in said.get("field_deadline_ms", {}).items()
                 if time >= 0}
    value = said["value"]
    if said["type"] == "string":
        value = raw(value)
    elif said["type"] == "hash":
        value = {raw(name): raw(text) for name, text in value.items()}
    elif said["type"] == "set":
        value = dict.fromkeys(map(raw, value))
    elif said["type"] == "zset":
        value = {raw(name): float(score) for name, score in value}
    elif said["type"] == "list":
        value = tuple(map(raw, value))
    elif said["type"] == "stream":
        value = golden_stream(said)
    else:
        value = None
    return Entry(said["type"], value, said["deadline_ms"], deadlines)


def golden_stream(said):
    groups = tuple(GroupValue(raw(group["name"]), raw(group["last_id"]), group["entries_read"],
                              tuple(sorted(raw(one["name"]) for one in group["consumers"])),
                              tuple((raw(one["id"]), raw(one["consumer"]), one["delivered_ms"],
                                     one["deliveries"]) for one in group["pending"]))
                   for group in said["groups"])
    entries = tuple((raw(entry_id), *map(raw, words)) for entry_id, words in said["value"])
    return StreamValue(entries, raw(said["last_id"]), raw(said["max_deleted_id"]),
                       said["entries_added"], groups)


def raw(text):
    return text.encode("latin-1")


def difference(expected, seen, limit=10):
    """What is not the same, in words; empty if all is."""
    lines = []
    for place in sorted(set(expected) | set(seen)):
        if expected.get(place) != seen.get(place):
            lines.append(f"{place}: expected {short(expected.get(place))}\n"
                         f"{' ' * len(str(place))}      seen {short(seen.get(place))}")
    more = f"\nand {len(lines) - limit} more" if len(lines) > limit else ""
    return "\n".join(lines[:limit]) + more


def short(entry, most=400):
    text = "nothing" if entry is None else repr(tuple(entry))
    return text if len(text) <= most else text[:most] + "..."
