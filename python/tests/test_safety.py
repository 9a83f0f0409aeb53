# SPDX-License-Identifier: Apache-2.0
"""What must not go wrong: use after close, threads, fork, pickling, the GIL."""

import copy
import os
import pickle
import subprocess
import sys
import threading

import pytest

import mayfly

USES = {
    "get": lambda x: x.get("k"), "[]": lambda x: x["k"], "put": lambda x: x.put("k", "v"),
    "[]=": lambda x: x.__setitem__("k", "v"), "del": lambda x: x.delete("k"),
    "in": lambda x: "k" in x, "len": len, "iter": list, "ttl": lambda x: x.ttl("k"),
    "items": lambda x: list(x.items()), "put_many": lambda x: x.put_many({"a": "b"}),
    "get_many": lambda x: x.get_many(["a"]), "purge": lambda x: x.purge_expired(),
    "expire": lambda x: x.expire("k", 1), "iterator": lambda x: x.iterator(),
    "expiring": lambda x: x.expiring(5), "clear": lambda x: x.clear(),
    "ttl_histogram": lambda x: x.ttl_histogram(),
    "increment": lambda x: x.increment("n"), "default_ttl": lambda x: x.default_ttl,
}


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
def test_b2_use_after_close_is_an_error(path, use):
    db = mayfly.KVStore(path)
    family = db.create_column_family("x")
    closed_before = db.create_column_family("y")
    closed_before.close()
    closed_before.close()
    with pytest.raises(mayfly.Error, match="closed"):
        use(closed_before)
    db.close()
    db.close()
    for place in (db, family):
        with pytest.raises(mayfly.Error, match="closed"):
            use(place)
    family.close()


@pytest.mark.parametrize("name", ["commit", "rollback", "begin", "sync", "compact", "stats",
                                  "integrity_check", "list_column_families", "snapshot"])
def test_a_closed_store_refuses_all_else(path, name):
    db = mayfly.KVStore(path)
    db.close()
    assert db.closed and "closed" in repr(db)
    with pytest.raises(mayfly.Error, match="closed"):
        getattr(db, name)()


def test_an_iterator_after_close_is_an_error(path):
    db = mayfly.KVStore(path)
    db["a"] = "1"
    it = db.iterator().first()
    db.close()
    for action in (it.next, it.first, lambda: it.key, lambda: it.value, lambda: next(it)):
        with pytest.raises(mayfly.Error, match="closed"):
            action()
    it.close()


def test_what_is_not_closed_is_closed_when_it_goes(path):
    for number in range(50):
        db = mayfly.KVStore(path)
        family = db.column_family("x")
        iterators = [family.iterator(), db.iterator(), iter(db), iter(family.items())]
        next(iterators[0], None)
        db["n"] = str(number)
        snapshot = db.snapshot()
        del db, family, iterators, snapshot
    with mayfly.KVStore(path) as db:
        assert db["n"] == b"49"
        db.compact()  # nobody is using it any more


def test_a_store_whose_init_was_not_called_is_an_error():
    for kind, use in ((mayfly.KVStore, lambda x: x.get("k")), (mayfly.Cache, lambda x: x.get("k")),
                      (mayfly.ColumnFamily, lambda x: x["k"]), (mayfly.Iterator, next)):
        with pytest.raises(TypeError):
            use(kind.__new__(kind))


def test_pickling_and_copying_are_refused(db):
    family = db.create_column_family("x")
    for thing in (db, family, db.iterator(), db.snapshot(), mayfly.Cache()):
        for action in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="pickle"):
                action(thing)


# --- Fork

def test_a_store_can_not_be_used_in_the_child_of_a_fork(path):
    db = mayfly.KVStore(path)
    family = db.create_column_family("x")
    db["a"] = "1"
    it, snapshot = db.iterator().first(), db.snapshot()
    child = os.fork()
    if child == 0:
        refused = 0
        for use in (lambda: db["a"], lambda: db.put("a", "2"), lambda: family.get("a"),
                    lambda: it.next(), lambda: snapshot.get("a"), db.stats, lambda: db.begin()):
            try:
                use()
            except mayfly.Error as error:
                refused += "fork" in str(error)
        db.close()
        it.close()
        with mayfly.KVStore(path) as again:  # that is how it is done
            refused += again["a"] == b"1"
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 8
    assert db["a"] == b"1" and it.key == b"a"
    db["a"] = "3"
    db.close()


# --- Threads

def run_threads(*functions):
    """Runs them at the same time; an exception in one is one here."""
    failures = []

    def guard(function):
        try:
            function()
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=guard, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_b3_threads_share_a_store(path):
    db = mayfly.KVStore(path, sync_level=mayfly.SYNC_OFF)
    family = db.create_column_family("x")

    def write(number):
        for i in range(200):
            db.put(f"{number}:{i}", str(i), ttl=1000)
            family.increment("sum")

    def read():
        for i in range(200):
            value = db.get(f"0:{i}")
            assert value in (None, b"%d" % i)
            assert all(value.isdigit() for _, value in db.iterator())

    run_threads(*[lambda n=n: write(n) for n in range(4)], read, read, read, read)
    assert len(db) == 800 and family["sum"] == b"800"
    db.close()


def test_b5_a_transaction_belongs_to_its_thread(path):
    db = mayfly.KVStore(path, busy_timeout=10_000)
    begun, seen = threading.Event(), threading.Event()

    def writer():
        with pytest.raises(ZeroDivisionError), db.transaction():
            db["mine"] = "1"
            begun.set()
            seen.wait()
            raise ZeroDivisionError

    def other():
        begun.wait()
        assert not db.in_transaction and "mine" not in db
        db.commit()
        seen.set()
        db["yours"] = "2"  # waits for the writer

    run_threads(writer, other)
    assert dict(db) == {b"yours": b"2"}
    db.close()


def test_closing_waits_for_nobody_who_writes(path):
    db = mayfly.KVStore(path)
    begun, done = threading.Event(), threading.Event()

    def writer():
        db.begin(write=True)
        begun.set()
        done.wait()
        db.rollback()

    thread = threading.Thread(target=writer)
    thread.start()
    begun.wait()
    with pytest.raises(mayfly.BusyError):
        db.close()
    done.set()
    thread.join()
    db.close()


def test_b7_closing_while_others_are_inside(path):
    db = mayfly.KVStore(path, sync_level=mayfly.SYNC_OFF)
    db.put_many({f"k{i}": "v" * 100 for i in range(1000)})
    family = db.create_column_family("x")
    started = threading.Barrier(5)

    def use(action):
        started.wait()
        with pytest.raises(mayfly.Error):
            while True:
                action()

    def close():
        started.wait()
        family.close()
        for key in range(200):
            db.get(f"k{key}")
        db.close()

    run_threads(lambda: use(lambda: db.get("k5")), lambda: use(lambda: list(db.items())),
                lambda: use(lambda: family.put("a", "b")), lambda: use(lambda: db.put("a", "b")),
                close)


def test_threads_that_share_an_iterator_are_told_or_take_turns(db):
    db.put_many({f"{i:05}": str(i) for i in range(20_000)})
    iterator, found, told = db.iterator(), [], []

    def walk():
        while True:
            try:
                found.append(next(iterator))
            except StopIteration:
                return
            except mayfly.Error as error:
                assert "another thread" in str(error)
                told.append(error)

    run_threads(walk, walk, walk)
    assert sorted(found) == list(db.items())


def test_the_gil_is_let_go_while_a_thread_is_inside():
    inside, leave = threading.Event(), threading.Event()
    main = threading.get_ident()

    def slow_clock():
        if threading.get_ident() != main:
            inside.set()
            leave.wait()
        return 5.0

    with mayfly.KVStore(clock=slow_clock) as db:
        db.put("a", "1", ttl=5)
        results = []
        thread = threading.Thread(target=lambda: results.append(db.get("a")))
        thread.start()
        inside.wait()  # the other thread is in a get, and this one runs
        assert db.get("a") == b"1" and len(db) == 1
        leave.set()
        thread.join()
        assert results == [b"1"]


def test_the_gil_is_let_go_while_a_writer_waits(path):
    with mayfly.KVStore(path) as one, mayfly.KVStore(path, busy_timeout=60_000) as other:
        one.begin(write=True)
        one["a"] = "1"
        waiting = threading.Thread(target=lambda: other.put("a", "2"))
        waiting.start()
        for _ in range(1000):  # this would not go on if the other thread kept the GIL
            assert one["a"] == b"1"
        one.commit()
        waiting.join()
        assert one["a"] == b"2"


END_WITH_DAEMONS = """
import threading
import mayfly

db = mayfly.KVStore(CONFIG)
turns = threading.Semaphore(0)

def work():
    while True:
        db["k"] = "v"
        list(db), db.get_many(["k"]), db.put_many({"a": "b"}), db.iterator().first().key
        turns.release()

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
for _ in range(50):
    turns.acquire()
"""


@pytest.mark.parametrize("config", ["", "clock=lambda: 5.0"])
def test_the_interpreter_ends_while_daemon_threads_are_inside(config):
    program = END_WITH_DAEMONS.replace("CONFIG", config)
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")


def test_a_transaction_that_a_thread_leaves_open_is_undone_when_the_thread_ends(path):
    db = mayfly.KVStore(path)
    db["a"] = "1"

    def forget():
        db.begin(write=True)
        db["b"] = "2"

    for _ in range(2):
        thread = threading.Thread(target=forget)
        thread.start()
        thread.join()
    # The end of a thread is seen before the system has taken it down.
    deadline = 100
    while deadline:
        try:
            db["c"] = "3"
            break
        except mayfly.BusyError:
            deadline -= 1
            threading.Event().wait(0.05)
    assert dict(db.items()) == {b"a": b"1", b"c": b"3"}
    db.close()
    with mayfly.KVStore(path) as again:
        assert again["c"] == b"3"


@pytest.mark.parametrize("use", [
    lambda db: db.column_family("a\0b"), lambda db: db.create_column_family("\0"),
    lambda db: db.open_column_family("a\0"), lambda db: db.drop_column_family("a\0b"),
    lambda db: mayfly.KVStore("a\0b"), lambda db: mayfly.KVStore(b"a\0b"),
])
def test_a_name_is_not_cut_at_a_zero_byte(path, use):
    db = mayfly.KVStore(path)
    db.create_column_family("a")["k"] = "v"
    with pytest.raises(ValueError, match="null byte"):
        use(db)
    assert db.list_column_families() == ["a"]


PUT_IN_A_LOOP = """
import sys, mayfly
with mayfly.KVStore(sys.argv[1]) as db:
    print(flush=True)
    sys.stdin.readline()
    for i in range(200):
        db.put(f"{sys.argv[2]}:{i}", "v", ttl=60)
        if i % 20 == 0:
            with db.transaction():
                db.increment("count")
"""


def test_four_processes_that_put_at_once_wait_for_each_other(path):
    command = [sys.executable, "-c", PUT_IN_A_LOOP, path]
    processes = [subprocess.Popen([*command, str(number)], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                 for number in range(4)]
    for process in processes:
        process.stdout.readline()  # it is ready
    for process in processes:
        process.stdin.write(b"go\n")
        process.stdin.flush()
    for process in processes:
        _, said = process.communicate(timeout=60)
        assert (process.returncode, said) == (0, b"")
    with mayfly.KVStore(path) as db:
        assert len(db) == 801 and db["count"] == b"40"


def test_what_is_called_must_be_callable():
    with pytest.raises(TypeError, match="clock"):
        mayfly.KVStore(clock=5)
    with pytest.raises(TypeError, match="listener"):
        mayfly.Cache(listener=5)
