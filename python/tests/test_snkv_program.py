# SPDX-License-Identifier: Apache-2.0
"""A program as users of snkv write it runs after its import is changed, and nothing else."""

import subprocess
import sys

PROGRAM = '''
import mayfly as snkv
from mayfly import KVStore, NotFoundError

with KVStore("mydb.db") as db:
    db.put(b"session", b"tok123", ttl=60)
    db[b"token", 30] = b"bearer-xyz"
    assert db.get(b"session") == b"tok123"
    try:
        remaining = db.ttl(b"session")
    except NotFoundError:
        remaining = None
    assert 59 < remaining <= 60
    assert db.purge_expired() == 0
    with db.create_column_family("cache") as cf:
        cf[b"item", 10] = b"data"
        assert cf.purge_expired() == 0
        assert cf.ttl(b"item") > 9

db = snkv.KVStore("mydb.db", journal_mode=snkv.JOURNAL_WAL, busy_timeout=100,
                  sync_level=snkv.SYNC_NORMAL)
db["hello"] = "world"
assert db["hello"].decode() == "world" and "hello" in db
db.begin(write=True)
db.put("a", "1")
db.put("b", "2")
db.commit()
db.begin(write=True)
db.delete("a")
db.rollback()
assert db.exists("a")
it = db.iterator(prefix="h")
found = []
while not it.eof:
    found.append((it.key, it.value))
    it.next()
it.close()
assert found == [(b"hello", b"world")]
with db.reverse_iterator() as it:
    assert [key for key, value in it] == [b"token", b"session", b"hello", b"b", b"a"]
assert db.put_if_absent("lock", "me", ttl=5) and not db.put_if_absent("lock", "you")
try:
    db["nobody"]
except KeyError as error:
    assert isinstance(error, snkv.Error)
for key, value in db:
    assert db[key] == value
assert len(list(db)) == len(db) == 6
it = db.reverse_iterator()
assert it.last() is it and it.prev() is None and it.item() == (b"session", b"tok123")
assert it.seek("lock").item() == (b"lock", b"me")
it.close()
it = db.prefix_iterator(b"s")
pairs = list(it)
it.first()
assert it.item() == pairs[0] and it.next() is None and it.eof
it.close()
with db.open_column_family("cache") as cf:
    assert [pair for pair in cf] == [(b"item", b"data")]
db._db.put_ttl(b"raw", b"v", 1)
assert db.count() == 7 and db.ttl(b"raw") == 0.0
assert db.checkpoint(snkv.CHECKPOINT_FULL)[0] > 0
db._db.put_ttl(b"old", b"v", 1)
db.stats_reset()
assert db.get(b"old") is None and db.stats()["ttl_expired"] == 1
db._db.put_ttl(b"raw", b"v", 1)
assert db.purge_expired() == 1 and db.stats()["ttl_purged"] == 1
assert db.checkpoint(snkv.CHECKPOINT_TRUNCATE) == (0, 0)
assert len(db.stats()) == 12 and db.errmsg
db.stats_reset()
db.integrity_check()
db.vacuum(0)
db.vacuum(n_pages=5)
db.sync()
db.close()
db.close()
print("done")
'''


def test_a_program_for_snkv_runs(tmp_path):
    done = subprocess.run([sys.executable, "-W", "error", "-c", PROGRAM], cwd=tmp_path,
                          capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("done\n", "")
