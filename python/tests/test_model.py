# SPDX-License-Identifier: Apache-2.0
"""Random operations, on a store and on a cache, against a dict with deadlines."""

import tempfile

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import mayfly

KEYS = st.sampled_from([b"a", b"b", b"c", b"ab", b"\x00", b"\xff\xff"])
VALUES = st.binary(max_size=5)
TTLS = st.one_of(st.none(), st.integers(-2, 30), st.sampled_from([0.001, 0.5, 1.0]))


class Model:
    """Too simple to be wrong: key -> (value, deadline in ms or None)."""

    def __init__(self):
        self.now = 1_000_000
        self.entries = {}

    def live(self):
        return {k: v for k, (v, d) in self.entries.items() if d is None or d > self.now}

    def put(self, key, value, ttl):
        deadline = None if ttl is None else self.now + round(ttl * 1000)
        self.entries[key] = (value, deadline)

    def left(self, key):
        if key not in self.live():
            return "absent"
        deadline = self.entries[key][1]
        return None if deadline is None else (deadline - self.now) / 1000

    def drop(self, key):
        return self.entries.pop(key, None)


class Common(RuleBasedStateMachine):
    """The operations that a store and a cache have in common."""

    @rule(key=KEYS, value=VALUES, ttl=TTLS)
    def put(self, key, value, ttl):
        self.real.put(key, value, ttl)
        self.model.put(key, value, ttl)

    @rule(key=KEYS, value=VALUES)
    def set_item(self, key, value):
        self.real[key] = value
        self.model.put(key, value, None)

    @rule(key=KEYS)
    def get(self, key):
        assert self.real.get(key) == self.model.live().get(key)

    @rule(key=KEYS)
    def pop(self, key):
        assert self.real.pop(key, None) == self.model.live().get(key)
        self.model.drop(key)

    @rule(key=KEYS)
    def delete(self, key):
        try:
            del self.real[key]
            assert key in self.model.live()
        except KeyError:
            assert key not in self.model.live()
        self.model.drop(key)

    @rule(key=KEYS, ttl=st.integers(0, 30))
    def expire(self, key, ttl):
        is_there = key in self.model.live()
        try:
            assert self.real.expire(key, ttl) is is_there
        except KeyError:
            assert not is_there
        if is_there:
            self.model.put(key, self.model.entries[key][0], ttl)

    @rule(key=KEYS)
    def persist(self, key):
        left = self.model.left(key)
        try:
            assert self.real.persist(key) is (left not in (None, "absent"))
        except KeyError:
            assert left == "absent"
        if left != "absent":
            self.model.put(key, self.model.entries[key][0], None)

    @rule(key=KEYS)
    def ttl(self, key):
        try:
            left = self.real.ttl(key)
            assert left == 0.0 or left == self.model.left(key)
            assert left != 0.0 or key not in self.model.live()
        except KeyError:
            assert self.model.left(key) == "absent"

    @rule(milliseconds=st.integers(0, 20_000))
    def wait(self, milliseconds):
        self.model.now += milliseconds

    @rule()
    def clear(self):
        self.real.clear()
        self.model.entries.clear()

    @invariant()
    def shows_what_is_alive(self):
        live = self.model.live()
        assert len(self.real) == len(live)
        assert dict(self.real.items()) == live
        assert all((key in self.real) == (key in live) for key in (b"a", b"c", b"\x00"))


class StoreMachine(Common):
    """A store, with transactions, purging and opening again."""

    @initialize()
    def open(self):
        self.folder = tempfile.TemporaryDirectory()
        self.model = Model()
        self.before = None  # what a rollback restores
        self.start()

    def start(self):
        path = self.folder.name + "/store.db"
        self.real = mayfly.KVStore(path, clock=lambda: self.model.now / 1000, sync_level=0)

    @rule(limit=st.one_of(st.none(), st.integers(0, 3)))
    def purge(self, limit):
        self.real.purge_expired(limit)

    @rule(items=st.lists(st.tuples(KEYS, VALUES), max_size=5), ttl=TTLS)
    def put_many(self, items, ttl):
        self.real.put_many(items, ttl)
        for key, value in items:
            self.model.put(key, value, ttl)

    @rule(keys=st.lists(KEYS, max_size=4))
    def get_many(self, keys):
        live = self.model.live()
        assert self.real.get_many(keys) == {key: live[key] for key in keys if key in live}

    @rule()
    def walk(self):
        live = sorted(self.model.live().items())
        assert list(self.real.iterator()) == live
        assert list(self.real.reverse_iterator()) == live[::-1]
        assert list(self.real.prefix_iterator(b"a")) == [i for i in live if i[0][:1] == b"a"]

    @rule()
    def checkpoint(self):
        if self.before is None:
            self.real.checkpoint(mayfly.CHECKPOINT_FULL)

    @invariant()
    def counts_what_expires_when(self):
        bounds = (1, 10, 60, 600, 3600, 86_400, 604_800, 10**12)
        names = [(seconds * 1000, name) for seconds, name in zip(bounds, mayfly.TTL_BUCKETS)]
        entries, sizes = dict.fromkeys(mayfly.TTL_BUCKETS, 0), dict.fromkeys(mayfly.TTL_BUCKETS, 0)
        for key, value in self.model.live().items():
            deadline = self.model.entries[key][1]
            if deadline is not None:
                bucket = next(name for ms, name in names if deadline <= self.model.now + ms)
                entries[bucket] += 1
                sizes[bucket] += len(key) + len(value)
        histogram = self.real.ttl_histogram(with_bytes=True)
        assert histogram.entries == entries and histogram.bytes == sizes
        assert histogram.overdue == self.real.count() - len(self.real)
        assert (histogram.oldest_overdue is None) == (histogram.overdue == 0)

    @rule()
    def begin(self):
        if self.before is None:
            self.real.begin(write=True)
            self.before = dict(self.model.entries)
            self.began = self.model.now

    @rule(commit=st.booleans())
    def end(self, commit):
        if self.before is None:
            return
        (self.real.commit if commit else self.real.rollback)()
        if not commit:
            self.model.entries = self.before
        self.before = None

    @rule(milliseconds=st.integers(0, 20_000))
    def wait(self, milliseconds):
        if self.before is None:  # time stands still in a transaction
            self.model.now += milliseconds

    @rule()
    def open_again(self):
        self.real.close()
        if self.before is not None:
            self.model.entries, self.before = self.before, None
        self.start()
        self.real.integrity_check()

    def teardown(self):
        if hasattr(self, "real"):
            self.real.close()
            self.folder.cleanup()


class CacheMachine(Common):
    """A cache, whose listener must be told of each entry that goes, once."""

    @initialize()
    def open(self):
        self.model = Model()
        self.told = []
        self.puts = 0
        self.real = mayfly.Cache(timer=lambda: self.model.now / 1000,
                                 listener=lambda *args: self.told.append(args))

    @rule(limit=st.one_of(st.none(), st.integers(0, 3)))
    def purge(self, limit):
        self.real.purge(limit)

    @invariant()
    def counts_what_goes(self):
        stats = self.real.stats()
        causes = [cause for _, _, cause in self.told]
        assert causes.count("expired") == stats["expirations"]
        assert causes.count("replaced") == stats["replacements"]


QUICK = settings(max_examples=40, stateful_step_count=40, deadline=None,
                 suppress_health_check=list(HealthCheck))
TestStoreModel = StoreMachine.TestCase
TestStoreModel.settings = QUICK
TestCacheModel = CacheMachine.TestCase
TestCacheModel.settings = QUICK
