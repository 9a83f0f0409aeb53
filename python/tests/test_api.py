# SPDX-License-Identifier: Apache-2.0
"""The names, arguments and rules of the package snkv, one claim each."""

import contextlib
import inspect
import math
import pathlib
import time

import pytest

import mayfly

NAMES = (
    "KVStore ColumnFamily Iterator Error NotFoundError BusyError LockedError ReadOnlyError "
    "CorruptError AuthError JOURNAL_DELETE JOURNAL_WAL SYNC_OFF SYNC_NORMAL SYNC_FULL "
    "CHECKPOINT_PASSIVE CHECKPOINT_FULL CHECKPOINT_RESTART CHECKPOINT_TRUNCATE NO_TTL"
).split()


@pytest.mark.parametrize("name", NAMES)
def test_the_package_has_the_name(name):
    assert hasattr(mayfly, name)


def test_constants_have_the_numbers_of_snkv():
    assert (mayfly.JOURNAL_DELETE, mayfly.JOURNAL_WAL) == (0, 1)
    assert (mayfly.SYNC_OFF, mayfly.SYNC_NORMAL, mayfly.SYNC_FULL) == (0, 1, 2)
    assert (mayfly.CHECKPOINT_PASSIVE, mayfly.CHECKPOINT_FULL) == (0, 1)
    assert (mayfly.CHECKPOINT_RESTART, mayfly.CHECKPOINT_TRUNCATE) == (2, 3)
    assert mayfly.NO_TTL == -1


def test_exceptions_are_errors_and_a_missing_key_is_a_key_error():
    for name in ("NotFoundError", "BusyError", "LockedError", "ReadOnlyError", "CorruptError",
                 "AuthError", "FullError"):
        assert issubclass(getattr(mayfly, name), mayfly.Error)
        assert getattr(mayfly, name).__module__ == "mayfly"
    assert issubclass(mayfly.NotFoundError, KeyError)


# --- Keys and values

@pytest.mark.parametrize("convert", [str, str.encode, lambda s: bytearray(s.encode()),
                                     lambda s: memoryview(s.encode())])
def test_str_bytes_bytearray_and_memoryview_are_the_same_key_and_value(place, convert):
    place[convert("key")] = convert("value")
    assert place["key"] == b"value"
    assert place.get(convert("key")) == b"value"
    assert convert("key") in place
    place.delete(convert("key"))
    assert b"key" not in place


def test_text_is_utf8(place):
    place["ключ"] = "значение"
    assert place["ключ".encode()].decode() == "значение"


@pytest.mark.parametrize("wrong", [1, None, 1.5, ["a"], object()])
def test_other_types_are_a_type_error(place, wrong):
    with pytest.raises(TypeError, match="must be str, bytes, bytearray or memoryview"):
        place.put(wrong, b"v")
    with pytest.raises(TypeError, match="value"):
        place.put(b"k", wrong)
    with pytest.raises(TypeError):
        place.get(wrong)


def test_text_that_is_no_unicode_is_refused(place):
    with pytest.raises(UnicodeEncodeError):
        place.get("\ud800")


def test_an_empty_key_is_an_error_and_an_empty_value_is_not(place):
    with pytest.raises(mayfly.Error, match="1 to 65536 bytes"):
        place.put("", "v")
    place["k"] = ""
    assert place["k"] == b"" and place.get("k", b"x") == b""


def test_sizes_have_limits(place):
    place[b"k" * 65536] = b"v"
    with pytest.raises(mayfly.Error):
        place[b"k" * 65537] = b"v"
    with pytest.raises(mayfly.Error, match="10485760"):
        place["k"] = bytes(10_485_761)


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 100_000, 10_485_760])
def test_values_of_any_size_come_back(place, size):
    value = bytes(range(256)) * (size // 256 + 1)
    place["k"] = value[:size]
    assert place.get("k") == value[:size] and place["k"] == value[:size]


# --- Reading and writing

def test_a_missing_key_is_none_or_the_default_or_an_error(place):
    assert place.get("k") is None
    assert place.get("k", 7) == 7
    assert place.get("k", default="d") == "d"
    for action in (lambda: place["k"], lambda: place.delete("k"), lambda: place.ttl("k"),
                   lambda: place.__delitem__("k"), lambda: place.pop("k")):
        with pytest.raises(mayfly.NotFoundError) as caught:
            action()
        assert caught.value.args == ("k",)
    assert not place.exists("k") and "k" not in place


def test_put_takes_its_arguments_by_name_too(place):
    place.put(key="k", value="v", ttl=5)
    assert place.get(key="k") == b"v" and place.ttl("k") == 5.0
    for wrong in (lambda: place.put("k"), lambda: place.put("k", "v", 1, 2),
                  lambda: place.put("k", "v", tll=1), lambda: place.put("k", "v", key="x")):
        with pytest.raises(TypeError, match="put"):
            wrong()


def test_put_if_absent_tells_whether_it_did(place):
    assert place.put_if_absent("k", "1", ttl=10) is True
    assert place.put_if_absent("k", "2") is False
    assert place["k"] == b"1" and place.ttl("k") == 10.0


def test_brackets_take_a_ttl(place):
    place["k", 30] = "v"
    assert place.ttl("k") == 30.0
    place["k"] = "w"
    assert place.ttl("k") is None
    with pytest.raises(TypeError, match="a key and a TTL"):
        place["a", "b", "c"] = "v"


def test_count_includes_what_has_expired_and_len_does_not(place, clock):
    place["a"] = "1"
    place["b", 1] = "2"
    clock.advance(1)
    assert place.count() == 2 and len(place) == 1
    assert place.purge_expired() == 1
    assert place.count() == 1


def test_clear_empties_one_column_family_only(db):
    with db.create_column_family("other") as other:
        db["a"] = other["a"] = "1"
        db.clear()
        assert len(db) == 0 and len(other) == 1


def test_raw_access_takes_milliseconds(place, clock):
    place._db.put_ttl(b"k", b"v", int(clock.now * 1000) + 2500)
    assert place.ttl("k") == 2.5
    assert place._db.get_ttl(b"k") == (b"v", 2500)
    place._db.put_ttl(b"k", b"v", 0)
    assert place._db.get_ttl(b"k") == (b"v", mayfly.NO_TTL)


# --- Opening

def test_a_store_without_a_path_is_temporary():
    with mayfly.KVStore() as db, mayfly.KVStore(None) as other:
        db["a"] = "1"
        assert "a" not in other


def test_a_path_may_be_a_path_object_or_bytes(tmp_path):
    for path in (tmp_path / "a.db", str(tmp_path / "a.db").encode()):
        with mayfly.KVStore(path) as db:
            db["k"] = "v"
    assert pathlib.Path(tmp_path / "a.db").exists()


def test_what_was_stored_is_there_after_opening_again(path, clock):
    with mayfly.KVStore(path, clock=clock) as db:
        db.put("k", "v", ttl=60)
        db.create_column_family("c").close()
    with mayfly.KVStore(path, clock=clock) as db:
        assert db["k"] == b"v" and db.ttl("k") == 60.0
        assert db.list_column_families() == ["c"]


def test_all_keywords_of_snkv_are_accepted(path):
    config = {"sync_level": mayfly.SYNC_FULL, "cache_size": 1, "page_size": 4096,
              "read_only": False, "busy_timeout": 10, "wal_size_limit": 5, "full_mutex": True}
    with mayfly.KVStore(path, journal_mode=mayfly.JOURNAL_DELETE, **config) as db:
        db["k"] = "v"
        assert db["k"] == b"v"


@pytest.mark.parametrize("level", [mayfly.SYNC_OFF, mayfly.SYNC_NORMAL, mayfly.SYNC_FULL])
def test_all_sync_levels_are_accepted(path, level):
    with mayfly.KVStore(path, sync_level=level) as db:
        db["k"] = "v"


def test_c2_only_sync_off_means_no_sync(tmp_path):
    configs = [{}, {"busy_timeout": 5}, {"sync_level": mayfly.SYNC_NORMAL},
               {"sync_level": mayfly.SYNC_FULL}]
    with contextlib.ExitStack() as stack:
        stores = [stack.enter_context(mayfly.KVStore(tmp_path / str(number), **config))
                  for number, config in enumerate(configs)]
        for db in stores:
            for _ in range(3):
                db["k"] = "v"
        assert [db.log_stats()["log_syncs"] >= 2 for db in stores] == [False, False, False, True]
        deadline = time.monotonic() + 30  # it takes a second
        while not all(db.log_stats()["log_syncs"] for db in stores):
            assert time.monotonic() < deadline


def test_a_wal_size_limit_sets_the_size_of_the_log(path):
    for limit, segment in (0, 32 << 20), (1, 64 << 10), (32, 32 * 4096), (-1, 32 << 20):
        with mayfly.KVStore(path, wal_size_limit=limit) as db:
            db["k"] = "v"
            db["k"] = "w"
            assert pathlib.Path(path + "-wal").stat().st_size == 4096 + 2 * segment
        assert not pathlib.Path(path + "-wal").exists()


def test_an_editor_can_complete_the_keywords():
    keywords = inspect.signature(mayfly.KVStore).parameters
    assert list(keywords) == [
        "path", "journal_mode", "sync_level", "read_only", "busy_timeout", "clock", "cache_size",
        "page_size", "wal_size_limit", "full_mutex",
    ]
    assert keywords["path"].default is None and keywords["busy_timeout"].default == 5000
    assert keywords["sync_level"].default == mayfly.SYNC_NORMAL
    kinds = {parameter.kind for parameter in keywords.values()}
    assert kinds == {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}


def test_an_unknown_keyword_is_refused(path):
    with pytest.raises(TypeError, match="'busy_timout'"):
        mayfly.KVStore(path, busy_timout=1)
    with pytest.raises(mayfly.Error):
        mayfly.KVStore(path, sync_level=99)


def test_a_read_only_store_refuses_to_write(path):
    with mayfly.KVStore(path) as db:
        db["k"] = "v"
    with mayfly.KVStore(path, read_only=True) as db:
        assert db["k"] == b"v"
        for action in (lambda: db.put("k", "w"), lambda: db.delete("k"), db.clear,
                       lambda: db.begin(write=True), lambda: db.put_many({"a": "b"})):
            with pytest.raises(mayfly.ReadOnlyError):
                action()


def test_what_can_not_be_opened_says_why(tmp_path):
    with pytest.raises(mayfly.Error, match="nowhere"):
        mayfly.KVStore(tmp_path / "nowhere" / "a.db")
    with pytest.raises(mayfly.Error):
        mayfly.KVStore(tmp_path / "missing.db", read_only=True)
    (tmp_path / "text.db").write_text("this is not a store" * 1000)
    with pytest.raises(mayfly.CorruptError):
        mayfly.KVStore(tmp_path / "text.db")


# --- Maintenance

def test_stats_are_a_dict_of_12(db, clock):
    db["a"] = "12345"
    db.get("a")
    db.get("b")
    db.delete("a")
    db["b", 1] = "x"
    clock.advance(1)
    db.purge_expired()
    stats = db.stats()
    assert list(stats) == ["puts", "gets", "deletes", "iterations", "errors", "bytes_read",
                           "bytes_written", "wal_commits", "checkpoints", "ttl_expired",
                           "ttl_purged", "db_pages"]
    assert (stats["puts"], stats["gets"], stats["deletes"]) == (2, 1, 1)
    assert (stats["bytes_read"], stats["ttl_purged"]) == (5, 1)
    db.stats_reset()
    assert db.stats()["puts"] == 0 and db.stats()["db_pages"] > 0


def test_log_stats_tell_what_died_before_it_was_written(db, clock):
    db["kept"] = "v"
    for number in range(10):
        db[f"young{number}", 1] = "v"
    before = db.log_stats()
    assert list(before) == ["logged_bytes", "tree_bytes", "tree_entries", "expired_unwritten",
                            "checkpoints", "stalls", "stalled_ms", "log_syncs", "log_bytes",
                            "pending_bytes", "table_bytes", "damaged_rows"]
    assert before["damaged_rows"] == 0
    assert before["logged_bytes"] == before["pending_bytes"] > 0 < before["table_bytes"]
    clock.advance(1)
    db["new"] = "v"
    assert db.checkpoint(mayfly.CHECKPOINT_FULL) == (11, 11)
    after = db.log_stats()
    assert after["expired_unwritten"] == 10 and after["pending_bytes"] == 0
    assert after["tree_entries"] == before["tree_entries"] + 1
    assert after["checkpoints"] == before["checkpoints"] + 1


def test_checkpoints_know_their_modes(path, db):
    db["a"] = "0"
    for mode in mayfly.CHECKPOINT_PASSIVE, mayfly.CHECKPOINT_FULL, mayfly.CHECKPOINT_RESTART:
        db["a"] = "1"
        db["a"] = "2"
        assert (db.checkpoint(mode), db.checkpoint(mode)) == ((2, 2), (0, 0))
    with mayfly.KVStore(path, busy_timeout=0) as other, db.transaction():
        assert other.checkpoint() == (0, 0)
        with pytest.raises(mayfly.BusyError):
            other.checkpoint(mayfly.CHECKPOINT_FULL)
    db["a"] = "3"
    assert pathlib.Path(path + "-wal").exists()
    assert db.checkpoint(mayfly.CHECKPOINT_TRUNCATE) == (0, 0)
    assert not pathlib.Path(path + "-wal").exists()


def test_maintenance_calls_work_on_a_store_in_use(db):
    db["a"] = "1"
    assert db.sync() is None
    assert db.vacuum() is None and db.vacuum(10) is None
    assert db.integrity_check() is None
    assert db.checkpoint() == (0, 0) == db.checkpoint(mayfly.CHECKPOINT_TRUNCATE)
    with pytest.raises(mayfly.Error):
        db.checkpoint(99)
    assert db.compact() is None
    assert db["a"] == b"1"


def test_errmsg_has_the_last_failure(db):
    assert db.errmsg == "no error"
    with pytest.raises(mayfly.Error) as caught:
        db.put("", "v")
    assert db.errmsg == str(caught.value)


def test_stores_are_not_encrypted_and_say_so(db, path):
    assert db.is_encrypted() is False
    for action in (lambda: mayfly.KVStore.open_encrypted(path, b"pw"), db.remove_encryption,
                   lambda: db.reencrypt(b"pw")):
        with pytest.raises(mayfly.Error, match="not encrypted"):
            action()


def test_a_backup_has_everything_and_is_not_overwritten(db, tmp_path, clock):
    db.put("a", "1", ttl=60)
    db.create_column_family("c").put("b", "2")
    db.backup(tmp_path / "copy.db")
    with mayfly.KVStore(tmp_path / "copy.db", clock=clock) as copy:
        assert copy["a"] == b"1" and copy.ttl("a") == 60.0
        assert copy.open_column_family("c")["b"] == b"2"
    with pytest.raises(mayfly.Error):
        db.backup(tmp_path / "copy.db")


# --- Column families

def test_column_families_are_made_opened_listed_and_dropped(db):
    with db.create_column_family("b") as family:
        family["k"] = "v"
        assert "k" not in db and family.name == "b"
    db.create_column_family("a").close()
    assert db.list_column_families() == ["a", "b"]
    with pytest.raises(mayfly.Error):
        db.create_column_family("a")
    with db.open_column_family("b") as family:
        assert family["k"] == b"v"
        with pytest.raises(mayfly.BusyError):
            db.drop_column_family("b")
    db.drop_column_family("b")
    for action in (db.open_column_family, db.drop_column_family):
        with pytest.raises(mayfly.NotFoundError):
            action("b")
    with pytest.raises(mayfly.Error):
        db.create_column_family("__x")


def test_the_default_column_family_is_that_of_the_store(db):
    db["k"] = "v"
    with db.default_column_family() as family:
        assert family["k"] == b"v"


def test_column_family_opens_or_makes(db):
    with db.column_family("x") as one:
        one["k"] = "v"
    with db.column_family("x") as again:
        assert again["k"] == b"v"


def test_infinity_is_never(place):
    place.default_ttl = 10
    place.put("k", "v", ttl=math.inf)
    assert place.ttl("k") is None


def test_a_wrong_option_is_refused_in_a_sentence(path):
    with pytest.raises(ValueError, match="SYNC_OFF, SYNC_NORMAL or SYNC_FULL, not 'full'$"):
        mayfly.KVStore(path, sync_level="full")
    with pytest.raises(TypeError, match="^busy_timeout must be a whole number, not '5s'$"):
        mayfly.KVStore(path, busy_timeout="5s")
    for number in (2**31, 2**40, -2**31 - 1):
        with pytest.raises(ValueError, match=f"SYNC_NORMAL or SYNC_FULL, not {number}$"):
            mayfly.KVStore(path, sync_level=number)
        for option in ("busy_timeout", "wal_size_limit"):
            with pytest.raises(ValueError, match=f"^{option} must be from 0 to .*, not {number}$"):
                mayfly.KVStore(path, **{option: number})
    with pytest.raises(TypeError, match="^read_only must be True or False, not 'x'$"):
        mayfly.KVStore(path, read_only="x")
    with pytest.raises(TypeError, match="^path must be a str, bytes, os.PathLike or None, not 7$"):
        mayfly.KVStore(7)
