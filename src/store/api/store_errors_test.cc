// SPDX-License-Identifier: Apache-2.0
// What goes wrong around a store: paths, permissions, files that are none or damaged, a full map,
// other writers, options without sense. Each is a clear error; nothing is lost and the handle works
// on.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <random>

#include "mayfly/internal/stopwatch.h"
#include "mayfly/store.h"
#include "store/api/store_fixture.h"
#include "store/check/store_damage.h"
#include "store/txn/catalog.h"

namespace mayfly::internal {
namespace store_errors_test {

using namespace std::chrono_literals;

class StoreErrorsTest : public StoreFixture {
 protected:
  Result<Store> try_open(const StoreOptions& options = {}) const {
    return Store::open(path_, clock_, options);
  }
  // What opening it says; the message must not be empty and name the path.
  std::optional<Code> code_of_open(const std::filesystem::path& path,
                                   const StoreOptions& options = {}) const {
    const auto store = Store::open(path, clock_, options);
    if (store.ok()) return std::nullopt;
    EXPECT_NE(store.error().message.find(path.filename().string()), std::string::npos)
        << store.error().message;
    return store.error().code;
  }
  std::filesystem::path write_file(std::string_view name, std::string_view bytes) const {
    const auto path = folder_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
};

// --- Paths ---------------------------------------------------------------------------------------

TEST_F(StoreErrorsTest, AMissingFolderOrFileIsNotFound) {
  EXPECT_EQ(code_of_open(folder_ / "none" / "store"), Code::not_found);
  EXPECT_EQ(code_of_open(path_, {.create = false}), Code::not_found);
  EXPECT_EQ(code_of_open(path_, {.read_only = true}), Code::not_found);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "and nothing is left behind";
}

TEST_F(StoreErrorsTest, AFolderIsNoStore) {
  EXPECT_EQ(code_of_open(folder_.path()), Code::invalid);
  EXPECT_EQ(code_of_open(folder_.path(), {.read_only = true}), Code::invalid);
}

TEST_F(StoreErrorsTest, AFileIsNoFolder) {
  const auto file = write_file("file", "text");
  EXPECT_FALSE(Store::open(file / "store", clock_).ok());
}

TEST_F(StoreErrorsTest, ADeviceIsNoStore) {
  EXPECT_FALSE(Store::open("/dev/null", clock_).ok());
  EXPECT_FALSE(Store::open("/dev/null", clock_, {.read_only = true}).ok());
}

// As another user, if we are the superuser, whom nobody can deny anything.
class Unprivileged {
 public:
  Unprivileged() { EXPECT_EQ(seteuid(65'534), 0); }
  ~Unprivileged() { EXPECT_EQ(seteuid(0), 0); }
};

TEST_F(StoreErrorsTest, WhatMayNotBeReadOrMadeIsDenied) {
  if (geteuid() != 0) GTEST_SKIP() << "only the superuser can become another";
  must(open().put("key", "value"));
  std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  const Unprivileged other;
  EXPECT_EQ(code_of_open(folder_ / "new"), Code::denied);
  EXPECT_EQ(code_of_open(path_), Code::denied);
  EXPECT_EQ(code_of_open(path_, {.read_only = true}), Code::denied);
}

TEST_F(StoreErrorsTest, WhatMayOnlyBeReadIsReadReadOnly) {
  if (geteuid() != 0) GTEST_SKIP() << "only the superuser can become another";
  must(open().put("key", "value", 10s));
  using std::filesystem::perms;
  std::filesystem::permissions(path_, perms(0444));
  std::filesystem::permissions(folder_.path(), perms(0555));
  const Unprivileged other;
  EXPECT_EQ(code_of_open(path_), Code::denied);
  Store store = open({.read_only = true});
  EXPECT_EQ(value_of(store, "key"), "value");
  clock_.advance(10s);
  EXPECT_EQ(value_of(store, "key"), "(none)");
  EXPECT_EQ(must(store.count()).expired, 1u);
}

// --- Files that are no stores --------------------------------------------------------------------

TEST_F(StoreErrorsTest, GarbageIsCorruptAndLeftAlone) {
  std::mt19937 random(1);
  std::string noise(100'000, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  const std::vector<std::string> all = {noise,
                                        "x",
                                        "This is a text.\n",
                                        std::string(4'096, '\0'),
                                        std::string(8'192, '\0'),
                                        std::string(50'000, '\xff')};
  for (const std::string& bytes : all) {
    const auto path = write_file("garbage", bytes);
    EXPECT_EQ(code_of_open(path), Code::corrupt) << bytes.size();
    EXPECT_EQ(code_of_open(path, {.read_only = true}), Code::corrupt) << bytes.size();
    EXPECT_TRUE(file_bytes(path) == bytes) << "it may be somebody's";
  }
}

TEST_F(StoreErrorsTest, AnEmptyFileBecomesAStoreUnlessItMayOnlyBeRead) {
  const auto path = write_file("empty", "");
  EXPECT_EQ(code_of_open(path, {.read_only = true}), Code::denied);
  EXPECT_EQ(std::filesystem::file_size(path), 0u);
  Store store = must(Store::open(path, clock_));
  must(store.put("key", "value", 10s));
  EXPECT_EQ(value_of(store, "key"), "value");
}

TEST_F(StoreErrorsTest, AFileOfLmdbThatIsNotOursIsLeftAlone) {
  {
    RawFile raw(path_);
    raw.put("theirs", "key", "value");
    raw.put(nullptr, "record", "value");
  }
  const std::string before = file_bytes(path_);
  EXPECT_EQ(code_of_open(path_), Code::corrupt);
  EXPECT_EQ(code_of_open(path_, {.read_only = true}), Code::corrupt);
  EXPECT_TRUE(file_bytes(path_) == before);
}

// --- Damage --------------------------------------------------------------------------------------

class StoreDamageTest : public StoreErrorsTest {
 protected:
  void make_store(int entries) const {
    Store store = open();
    const Family users = must(store.create_family("users"));
    auto txn = must(store.write());
    for (int i = 0; i < entries; ++i) {
      txn.put("key" + std::to_string(i), std::string(100, 'v'), 10s);
      txn.put("key" + std::to_string(i), std::string(100, 'v'), {}, users);
    }
    must(txn.commit());
    must(store.close());
  }
};

// To use a damaged file must not crash; that is all that can be asked in general.
void use(Store& store) {
  for (const Family family : must(store.read()).all_families()) {
    const auto count = store.count(family);
    auto cursor = store.cursor({}, family);
    if (!cursor.ok()) continue;
    for (bool on = cursor->first(); on; on = cursor->next()) EXPECT_FALSE(cursor->key().empty());
  }
}

TEST_F(StoreDamageTest, ATruncatedFileIsCorruptAtEveryLength) {
  make_store(300);
  const std::string whole = file_bytes(path_);
  ASSERT_GT(whole.size(), 30 * 4'096u);
  std::vector<std::size_t> lengths = {1, 100, 4'095};
  for (std::size_t page = 1; page * 4'096 < whole.size(); ++page) {
    lengths.push_back(page * 4'096);
    lengths.push_back(page * 4'096 + 1'000);
  }
  int refused = 0;
  for (const std::size_t length : lengths) {
    const auto path = write_file("cut" + std::to_string(length), whole.substr(0, length));
    for (const bool read_only : {true, false}) {
      auto store = Store::open(path, clock_, {.read_only = read_only});
      if (store.ok()) {
        use(*store);  // what is missing may have been free
        EXPECT_TRUE(must(store->check()).ok()) << length;
        EXPECT_EQ(must(store->count()).stored, 300u) << length;
      } else {
        EXPECT_EQ(store.error().code, Code::corrupt) << length << store.error().message;
        ++refused;
      }
    }
    std::filesystem::remove(path);
  }
  EXPECT_GT(refused, static_cast<int>(lengths.size())) << "most of the file is in use";
}

TEST_F(StoreDamageTest, AStoreOfALaterFormatIsUnsupported) {
  make_store(1);
  {
    RawFile raw(path_);
    std::string catalog = raw.get(nullptr, "mayfly");
    catalog[7] = 3;
    raw.put(nullptr, "mayfly", catalog);
  }
  const std::string before = file_bytes(path_);
  EXPECT_EQ(code_of_open(path_), Code::unsupported);
  EXPECT_EQ(code_of_open(path_, {.read_only = true}), Code::unsupported);
  EXPECT_TRUE(file_bytes(path_) == before);
}

TEST_F(StoreDamageTest, ADamagedCatalogIsCorrupt) {
  make_store(1);
  const std::string good = RawFile(path_).get(nullptr, "mayfly");
  std::string changed = good;
  changed[20] = static_cast<char>(changed[20] ^ 1);
  for (const std::string& bad : {changed, good.substr(0, 30), std::string("x"), std::string()}) {
    RawFile(path_).put(nullptr, "mayfly", bad);
    EXPECT_EQ(code_of_open(path_), Code::corrupt) << bad.size();
  }
  RawFile(path_).put(nullptr, "mayfly", good);
  EXPECT_EQ(value_of(open(), "key0").size(), 100u) << "put right again, it is all there";
}

TEST_F(StoreDamageTest, AMissingCatalogOrTableIsCorrupt) {
  make_store(1);
  const std::string good = RawFile(path_).get(nullptr, "mayfly");
  RawFile(path_).erase(nullptr, "mayfly");
  EXPECT_EQ(code_of_open(path_), Code::corrupt);
  RawFile(path_).put(nullptr, "mayfly", good);
  RawFile(path_).drop("t1");
  EXPECT_EQ(code_of_open(path_), Code::corrupt);
}

TEST_F(StoreDamageTest, ChangedPagesNeverCrashACheck) {
  make_store(100);
  const std::string whole = file_bytes(path_);
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 20; ++i) bytes[8'192 + random() % (bytes.size() - 8'192)] ^= 0x55;
    const auto path = write_file("damaged", bytes);
    auto store = Store::open(path, clock_);
    if (!store.ok()) {
      EXPECT_EQ(store.error().code, Code::corrupt) << store.error().message;
      continue;
    }
    const auto report = store->check();
    if (!report.ok()) {
      EXPECT_EQ(report.error().code, Code::corrupt) << report.error().message;
    }
  }
}

// LMDB trusts them: what they say wrongly would end the process, and did.
TEST_F(StoreDamageTest, WrongMetaPagesNeverCrashAnOpen) {
  constexpr std::size_t kPageBytes = 4'096;
  constexpr std::size_t kMetaBytes = 152;
  constexpr std::size_t kTransaction = 144;
  make_store(20);
  const std::string whole = file_bytes(path_);
  const auto try_to_open = [&](const std::string& bytes) {
    auto store = Store::open(write_file("damaged", bytes), clock_, {.map_bytes = 1 << 22});
    if (store.ok()) static_cast<void>(store->check());
  };
  for (const char value : {'\0', '\x7f'}) {
    for (std::size_t at = 0; at < kMetaBytes; at += 4) {
      std::string bytes = whole;
      for (const std::size_t page : {0u, 1u}) bytes.replace(page * kPageBytes + at, 4, 4, value);
      try_to_open(bytes);
    }
  }
  std::string bytes = whole;  // as if nothing had ever been written, but with trees
  for (const std::size_t page : {0u, 1u}) bytes.replace(page * kPageBytes + kTransaction, 8, 8, 0);
  EXPECT_EQ(code_of_open(write_file("damaged", bytes)), Code::corrupt);
}

// --- A full map ----------------------------------------------------------------------------------

class StoreFullTest : public StoreErrorsTest {
 protected:
  // Puts until there is no room, not even after a sync, which lets go of superseded pages; returns
  // how many went in.
  static int fill(Store& store, std::string_view prefix) {
    for (int i = 0; i < 100'000; ++i) {
      std::string key(prefix);
      key += std::to_string(i);
      const std::string bytes(4'000, 'v');
      Status put = store.put(key, bytes, 10s);
      if (code_of(put) == Code::full) {
        must(store.sync());
        put = store.put(key, bytes, 10s);
      }
      if (put.ok()) continue;
      EXPECT_EQ(code_of(put), Code::full) << message_of(put);
      return i;
    }
    ADD_FAILURE() << "it never got full";
    return 0;
  }
};

TEST_F(StoreFullTest, AFullMapIsAnErrorThatLosesNothing) {
  for (const Durability durability : {Durability::off, Durability::normal, Durability::full}) {
    std::filesystem::remove(path_);
    Store store = open({.durability = durability, .map_bytes = 1 << 20});
    const int entries = fill(store, "key");
    EXPECT_GT(entries, 100);
    EXPECT_EQ(must(store.count()).live, static_cast<std::uint64_t>(entries));
    EXPECT_EQ(value_of(store, "key0").size(), 4'000u);
    EXPECT_TRUE(must(store.check()).ok());
  }
}

TEST_F(StoreFullTest, ALargerMapMakesRoomAgain) {
  for (const Durability durability : {Durability::off, Durability::normal, Durability::full}) {
    std::filesystem::remove(path_);
    int entries = 0;
    {
      Store store = open({.durability = durability, .map_bytes = 1 << 20});
      entries = fill(store, "key");
    }
    {
      Store store = open({.durability = durability, .map_bytes = 2 << 20});
      EXPECT_EQ(must(store.count()).live, static_cast<std::uint64_t>(entries));
      EXPECT_GT(fill(store, "more"), entries / 2);
      must(store.sync());
      must(store.clear());
      must(store.sync());
      EXPECT_GT(fill(store, "again"), entries / 2);
      EXPECT_TRUE(must(store.check()).ok());
    }
  }
}

TEST_F(StoreFullTest, ErasingMakesRoom) {
  for (const Durability durability : {Durability::off, Durability::normal, Durability::full}) {
    std::filesystem::remove(path_);
    Store store = open({.durability = durability, .map_bytes = 1 << 20});
    const int entries = fill(store, "key");
    for (int i = 0; i < entries; ++i) {
      EXPECT_TRUE(must(store.erase("key" + std::to_string(i)))) << i << " of " << entries;
    }
    EXPECT_EQ(must(store.count()).stored, 0u);
    EXPECT_GT(fill(store, "again"), entries / 2);
    EXPECT_TRUE(must(store.check()).ok());
  }
}

TEST_F(StoreFullTest, PurgingMakesRoom) {
  for (const Durability durability : {Durability::off, Durability::normal, Durability::full}) {
    std::filesystem::remove(path_);
    Store store = open({.durability = durability, .map_bytes = 1 << 20});
    for (int round = 0; round < 3; ++round) {
      const int entries = fill(store, "key");
      EXPECT_GT(entries, 50);
      clock_.advance(10s);
      EXPECT_EQ(must(store.purge_expired()).removed, static_cast<std::uint64_t>(entries));
    }
    EXPECT_TRUE(must(store.check()).ok());
  }
}

TEST_F(StoreFullTest, ABatchLeavesRoomToErase) {
  for (const Durability durability : {Durability::off, Durability::normal, Durability::full}) {
    std::filesystem::remove(path_);
    Store store = open({.durability = durability, .map_bytes = 1 << 20});
    int entries = 0;
    for (bool fits = true; fits;) {
      auto txn = must(store.write());
      for (int i = 0; i < 20; ++i) {
        txn.put("key" + std::to_string(entries + i), std::string(500, 'v'), 10s);
      }
      fits = txn.commit().ok();
      if (fits) entries += 20;
    }
    EXPECT_GT(entries, 300);
    for (int i = 0; i < entries; i += 7) {
      EXPECT_TRUE(must(store.erase("key" + std::to_string(i)))) << i << " of " << entries;
    }
    EXPECT_TRUE(must(store.check()).ok());
  }
}

// At `normal` superseded pages are kept until the next sync point. Nobody has to ask for one.
TEST_F(StoreFullTest, WhatIsReplacedTakesNoRoom) {
  for (const Durability durability : {Durability::off, Durability::normal, Durability::full}) {
    std::filesystem::remove(path_);
    Store store = open({.durability = durability, .map_bytes = 1 << 20});
    for (int i = 0; i < 500; ++i) {
      must(store.put("key" + std::to_string(i % 20), std::string(4'000, 'v'), 10s));
    }
    EXPECT_EQ(must(store.count()).live, 20u);
  }
}

TEST_F(StoreFullTest, ATransactionThatDoesNotFitIsUndoneAsAWhole) {
  Store store = open({.map_bytes = 1 << 20});
  must(store.put("before", "value", 10s));
  auto txn = must(store.write());
  for (int i = 0; i < 5'000; ++i) txn.put("key" + std::to_string(i), std::string(1'000, 'v'), 5s);
  EXPECT_EQ(code_of(txn.commit()), Code::full);

  EXPECT_EQ(must(store.count()).stored, 1u);
  must(store.put("after", "value", 10s));
  EXPECT_EQ(value_of(store, "before"), "value");
}

TEST_F(StoreFullTest, AValueLargerThanTheMapIsRefused) {
  Store store = open({.map_bytes = 1 << 20});
  EXPECT_EQ(code_of(store.put("key", std::string(2 << 20, 'v'))), Code::full);
  must(store.put("key", "small"));
}

TEST_F(StoreFullTest, AFileLargerThanTheMapItIsOpenedWithIsStillRead) {
  {
    Store store = open();
    for (int i = 0; i < 40; ++i) must(store.put(std::to_string(i), std::string(100'000, 'v')));
  }
  Store small = open({.map_bytes = 1 << 20});
  EXPECT_EQ(value_of(small, "39").size(), 100'000u);
  EXPECT_TRUE(must(small.check()).ok());
}

// --- Other writers -------------------------------------------------------------------------------

TEST_F(StoreErrorsTest, ASecondWriterIsBusyAtOnceOrAfterItsTime) {
  Store store = open();
  Store other = open({.busy_timeout = 0ms});
  auto writer = must(store.write());

  EXPECT_EQ(code_of(other.write()), Code::busy);
  EXPECT_EQ(code_of(other.put("key", "value")), Code::busy);
  EXPECT_EQ(code_of(other.erase("key")), Code::busy);
  EXPECT_EQ(code_of(other.create_family("family")), Code::busy);
  EXPECT_EQ(value_of(other, "key"), "(none)") << "readers never wait";
  EXPECT_EQ(must(other.stats()).last_transaction, must(store.stats()).last_transaction);
  writer.put("key", "value");
  must(writer.commit());
  must(other.put("key", "other"));
}

TEST_F(StoreErrorsTest, AThreadThatIsWritingIsToldSoInsteadOfWaitingForItself) {
  Store store = open({.busy_timeout = 60s});
  auto writer = must(store.write());
  const std::int64_t start = monotonic_ns();
  EXPECT_EQ(code_of(store.write()), Code::busy);
  EXPECT_EQ(code_of(store.put("key", "value")), Code::busy);
  EXPECT_EQ(code_of(store.compact()), Code::busy);
  EXPECT_LT(monotonic_ns() - start, 30'000'000'000);
  writer.put("key", "mine");
  must(writer.commit());
  EXPECT_EQ(value_of(store, "key"), "mine");
}

TEST_F(StoreErrorsTest, TooManyReadersAreToldSoAndTheRestWorksOn) {
  Store store = open();
  must(store.put("key", "value"));
  std::vector<ReadTxn> readers;
  std::optional<Code> code;
  while (!code && readers.size() < 10'000) {
    auto reader = store.read();
    code = code_of(reader);
    if (!code) readers.push_back(std::move(*reader));
  }
  EXPECT_GT(readers.size(), 100u);
  if (code) {
    EXPECT_EQ(code, Code::busy);
  }
  for (const std::size_t i : {std::size_t{0}, readers.size() - 1}) {
    EXPECT_EQ(value_of(readers[i], "key"), "value");
  }
  must(store.put("key", "new"));
  readers.clear();
  EXPECT_EQ(value_of(store, "key"), "new");
}

// --- Options and closing -------------------------------------------------------------------------

TEST_F(StoreErrorsTest, OptionsThatMakeNoSenseAreRefused) {
  EXPECT_EQ(code_of(try_open({.busy_timeout = -1ms})), Code::invalid);
  EXPECT_EQ(code_of(try_open({.purge_batch = 0})), Code::invalid);
  EXPECT_EQ(code_of(try_open({.sync_interval = -1ms})), Code::invalid);
  EXPECT_FALSE(try_open({.map_bytes = 1}).ok());
  EXPECT_FALSE(std::filesystem::exists(path_));
  must(open({.map_bytes = 1 << 20}).put("key", "value"));
}

TEST_F(StoreErrorsTest, AClosedStoreRefusesEverything) {
  Store store = open();
  must(store.put("key", "value"));
  must(store.close());

  EXPECT_EQ(code_of(store.get("key")), Code::invalid);
  EXPECT_EQ(code_of(store.put("key", "value")), Code::invalid);
  EXPECT_EQ(code_of(store.read()), Code::invalid);
  EXPECT_EQ(code_of(store.write()), Code::invalid);
  EXPECT_EQ(code_of(store.cursor()), Code::invalid);
  EXPECT_EQ(code_of(store.families()), Code::invalid);
  EXPECT_EQ(code_of(store.open_family("users")), Code::invalid);
  EXPECT_EQ(code_of(store.purge_expired().status), Code::invalid);
  EXPECT_EQ(code_of(store.purge_expired_all().status), Code::invalid);
  EXPECT_EQ(code_of(store.sync()), Code::invalid);
  EXPECT_EQ(code_of(store.compact()), Code::invalid);
  EXPECT_EQ(code_of(store.check()), Code::invalid);
  EXPECT_EQ(code_of(store.stats()), Code::invalid);
  EXPECT_EQ(code_of(store.backup(folder_ / "copy")), Code::invalid);
  const Status again = store.close();
  EXPECT_TRUE(again.ok() || again.error().code == Code::invalid);
  EXPECT_EQ(value_of(open(), "key"), "value");
}

TEST_F(StoreErrorsTest, ClosingOneHandleLeavesTheOthersOpen) {
  Store store = open();
  Store other = open();
  must(store.put("key", "value", 10s));
  must(store.close());
  EXPECT_EQ(value_of(other, "key"), "value");
  must(other.put("key", "new"));
  store = open();
  EXPECT_EQ(value_of(store, "key"), "new");
}

}  // namespace store_errors_test
}  // namespace mayfly::internal
