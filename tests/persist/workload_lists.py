# SPDX-License-Identifier: Apache-2.0
"""Random writes of lists and streams for workload.py.

Entries of streams that are pending are neither deleted nor trimmed: a log that is rewritten as
commands does not keep a pending entry whose text is gone, in Redis and Valkey neither.
"""

from workload_model import Group, Stream, Text, Unit, id_order

ELEMENTS_MAX = 60
ENTRIES_MAX = 40
GROUPS = [b"readers", b"writers"]
CONSUMERS = [b"ann", b"bob", b"eve"]


def sure(writer, kind, now):
    """A place and what is there; False instead if that is not sure."""
    place = writer.place(kind)
    entry, is_sure = writer.known(place, now)
    return place, entry if is_sure else False


def changed(kind, entry, value):
    return Text(value, entry.deadline if entry else None, kind)


# ---- Lists ----


def element(writer):
    return b"long" * 2_500 if writer.chance.random() < 0.01 else writer.value()


def list_unit(words, place, entry, elements):
    return Unit([words], {place: changed("list", entry, tuple(elements)) if elements else None})


def push(writer, now):
    place, entry = sure(writer, "list", now)
    if entry is False or (entry and len(entry.value) > ELEMENTS_MAX):
        return None
    before = entry.value if entry else ()
    more = tuple(element(writer) for _ in range(writer.chance.randint(1, 5)))
    if writer.chance.random() < 0.5:
        return list_unit(("RPUSH", place[1], *more), place, entry, before + more)
    return list_unit(("LPUSH", place[1], *more), place, entry, more[::-1] + before)


def pop(writer, now):
    place, entry = sure(writer, "list", now)
    if not entry:
        return None
    count = writer.chance.randint(1, 4)
    if writer.chance.random() < 0.5:
        return list_unit(("LPOP", place[1], count), place, entry, entry.value[count:])
    return list_unit(("RPOP", place[1], count), place, entry, entry.value[:-count])


def set_element(writer, now):
    place, entry = sure(writer, "list", now)
    if not entry:
        return None
    index, value = writer.chance.randrange(len(entry.value)), element(writer)
    elements = (*entry.value[:index], value, *entry.value[index + 1:])
    return list_unit(("LSET", place[1], index, value), place, entry, elements)


def insert(writer, now):
    place, entry = sure(writer, "list", now)
    if not entry or len(entry.value) > ELEMENTS_MAX:
        return None
    pivot, value = writer.chance.choice(entry.value), element(writer)
    index = entry.value.index(pivot)
    word = writer.chance.choice(["BEFORE", "AFTER"])
    index += word == "AFTER"
    elements = (*entry.value[:index], value, *entry.value[index:])
    return list_unit(("LINSERT", place[1], word, pivot, value), place, entry, elements)


def remove(writer, now):
    place, entry = sure(writer, "list", now)
    if not entry:
        return None
    value = writer.chance.choice(entry.value)
    return list_unit(("LREM", place[1], 0, value), place, entry,
                     [one for one in entry.value if one != value])


def trim(writer, now):
    place, entry = sure(writer, "list", now)
    if not entry:
        return None
    first = writer.chance.randint(0, 3)
    last = max(0, len(entry.value) - 1 - writer.chance.randint(0, 3))
    return list_unit(("LTRIM", place[1], first, last), place, entry, entry.value[first:last + 1])


def move(writer, now):
    place, entry = sure(writer, "list", now)
    target, other = sure(writer, "list", now)
    if not entry or other is False or target == place:
        return None
    left = entry.value[1:]
    moved = changed("list", other, (*(other.value if other else ()), entry.value[0]))
    words = writer.chance.choice([("LMOVE", place[1], target[1], "LEFT", "RIGHT"),
                                  ("BLMOVE", place[1], target[1], "LEFT", "RIGHT", 0)])
    return Unit([words], {place: changed("list", entry, left) if left else None, target: moved})


LISTS = [push, push, push, pop, set_element, insert, remove, trim, move]


# ---- Streams ----


def stream_unit(words, place, entry, value):
    return Unit([words], {place: changed("stream", entry, value)})


def next_id(writer, last_id):
    ms, number = id_order(last_id)
    if ms > 0 and writer.chance.random() < 0.5:
        return b"%d-%d" % (ms, number + 1)
    return b"%d-0" % (ms + writer.chance.randint(1, 1_000))


def add_entry(writer, now):
    place, entry = sure(writer, "stream", now)
    if entry is False:
        return None
    stream = entry.value if entry else Stream()
    new = next_id(writer, stream.last_id)
    words = [word for number in range(writer.chance.randint(1, 3))
             for word in (b"field %d" % number, writer.value())]
    stream = stream._replace(entries=(*stream.entries, (new, *words)), last_id=new,
                             added=stream.added + 1)
    most = writer.chance.randint(ENTRIES_MAX // 2, ENTRIES_MAX)
    removed = {one[0] for one in stream.entries[:-most]}
    if removed & stream.pending_ids():
        removed, limit = set(), ()
    else:
        limit = ("MAXLEN", most)
    return stream_unit(("XADD", place[1], *limit, new, *words), place, entry,
                       stream.without(removed))


def delete_entries(writer, now):
    place, entry = sure(writer, "stream", now)
    if not entry:
        return None
    free = [one[0] for one in entry.value.entries if one[0] not in entry.value.pending_ids()]
    if not free:
        return None
    ids = writer.chance.sample(free, min(len(free), writer.chance.randint(1, 3)))
    greatest = max([*ids, entry.value.deleted_id], key=id_order)
    return stream_unit(("XDEL", place[1], *ids), place, entry,
                       entry.value.without(ids)._replace(deleted_id=greatest))


def set_last_id(writer, now):
    place, entry = sure(writer, "stream", now)
    if not entry or writer.chance.random() < 0.7:
        return None
    new = next_id(writer, entry.value.last_id)
    return stream_unit(("XSETID", place[1], new), place, entry, entry.value._replace(last_id=new))


def create_group(writer, now):
    """Also of a stream that is not there."""
    place, entry = sure(writer, "stream", now)
    name = writer.chance.choice(GROUPS)
    if entry is False or (entry and entry.value.group(name)):
        return None
    stream = entry.value if entry else Stream()
    first = writer.chance.choice([b"0-0", stream.last_id])
    return stream_unit(("XGROUP", "CREATE", place[1], name, first, "MKSTREAM"), place, entry,
                       stream.with_group(Group(name, first)))


def some_group(writer, now):
    place, entry = sure(writer, "stream", now)
    group = writer.chance.choice(entry.value.groups) if entry and entry.value.groups else None
    return place, entry, group


def change_group(writer, now):
    place, entry, group = some_group(writer, now)
    if not group:
        return None
    consumer = writer.chance.choice(CONSUMERS)
    kind = writer.chance.randrange(6)
    if kind == 0:
        left = tuple(one for one in entry.value.groups if one != group)
        return stream_unit(("XGROUP", "DESTROY", place[1], group.name), place, entry,
                           entry.value._replace(groups=left))
    if kind == 1:
        after = group._replace(consumers=tuple(one for one in group.consumers if one != consumer),
                               pending=tuple(one for one in group.pending if one[1] != consumer))
        words = ("XGROUP", "DELCONSUMER", place[1], group.name, consumer)
    elif kind == 2:
        after = group._replace(last_id=entry.value.last_id)
        words = ("XGROUP", "SETID", place[1], group.name, entry.value.last_id)
    else:
        after = group.with_consumer(consumer)
        words = ("XGROUP", "CREATECONSUMER", place[1], group.name, consumer)
    return stream_unit(words, place, entry, entry.value.with_group(after))


def read_group(writer, now):
    place, entry, group = some_group(writer, now)
    if not group:
        return None
    consumer, count = writer.chance.choice(CONSUMERS), writer.chance.randint(1, 6)
    new = [one[0] for one in entry.value.entries
           if id_order(one[0]) > id_order(group.last_id)][:count]
    if not new and consumer not in group.consumers:
        return None  # Redis 7.0 does not make the consumer then; others do
    after = group.with_consumer(consumer)
    no_ack = ("NOACK",) if writer.chance.random() < 0.2 else ()
    if new:
        pending = [one for one in group.pending if one[0] not in new or no_ack]
        pending += [] if no_ack else [(one, consumer, 1) for one in new]
        after = after._replace(last_id=new[-1],
                               pending=tuple(sorted(pending, key=lambda one: id_order(one[0]))))
    return stream_unit(("XREADGROUP", "GROUP", group.name, consumer, "COUNT", count, *no_ack,
                        "STREAMS", place[1], ">"), place, entry, entry.value.with_group(after))


def acknowledge(writer, now):
    place, entry, group = some_group(writer, now)
    if not group or not group.pending:
        return None
    ids = [one[0] for one in writer.chance.sample(group.pending, min(3, len(group.pending)))]
    after = group._replace(pending=tuple(one for one in group.pending if one[0] not in ids))
    return stream_unit(("XACK", place[1], group.name, *ids), place, entry,
                       entry.value.with_group(after))


def claim(writer, now):
    place, entry, group = some_group(writer, now)
    if not group or not group.pending:
        return None
    consumer = writer.chance.choice(CONSUMERS)
    ids = [one[0] for one in writer.chance.sample(group.pending, min(3, len(group.pending)))]
    just_id = ("JUSTID",) if writer.chance.random() < 0.5 else ()
    pending = tuple((one[0], consumer, one[2] + (not just_id)) if one[0] in ids else one
                    for one in group.pending)
    return stream_unit(("XCLAIM", place[1], group.name, consumer, 0, *ids, *just_id), place, entry,
                       entry.value.with_group(group.with_consumer(consumer)._replace(
                           pending=pending)))


STREAMS = [add_entry, add_entry, add_entry, delete_entries, set_last_id, create_group, create_group,
           change_group, read_group, read_group, acknowledge, claim]
