// SPDX-License-Identifier: Apache-2.0
// The format on disk, byte for byte: a change of it fails here, and needs a new version.
// Catalog and stored forms are golden bytes; a whole store is looked at through LMDB alone.

#include <gtest/gtest.h>
#include <lmdb.h>

#include <map>

#include "mayfly/store.h"
#include "store/api/store_fixture.h"
#include "store/rows/stored_key.h"
#include "store/txn/catalog.h"

namespace mayfly::internal {
namespace store_format_test {

using namespace std::chrono_literals;

std::string hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

// --- Golden bytes --------------------------------------------------------------------------------

TEST(StoreFormatTest, ACatalogOfAFreshStore) {
  EXPECT_EQ(hex(Catalog::fresh(0x0123456789abcdef).encode()),
            "4d4159464c59"        // MAYFLY
            "0002"                // version
            "0000000000000001"    // generation
            "0123456789abcdef"    // seed of the hash
            "00000002"            // next family
            "00000002"            // next table
            "00000001"            // slots
            "00000001"            // the first: its number,
            "00000001"            // data table,
            "00000000"            // key index (none),
            "00000000"            // expiry index (none),
            "7fffffffffffffff"    // default TTL (none),
            "000764656661756c74"  // and name: default
            "00000000"            // free tables
            "85c11b776b179b29");  // checksum: XXH64
}

TEST(StoreFormatTest, ACatalogWithFamiliesAndFreeTables) {
  Catalog catalog = Catalog::fresh(1);
  const Family users = catalog.create("u");
  const Family carts = catalog.create("c");
  catalog.add_ttl_tables(users);
  catalog.add_ttl_tables(carts);
  catalog.set_default_ttl(users, 60s);
  catalog.drop(carts);
  EXPECT_EQ(hex(catalog.encode()),
            "4d4159464c590002"
            "0000000000000007"                    // six changes
            "0000000000000001"                    // seed
            "000000040000000800000003"            // next family, next table, slots
            "00000001000000010000000000000000"    // default: number, tables
            "7fffffffffffffff000764656661756c74"  //
            "00000002000000020000000400000005"    // u
            "000000000000ea60000175"              // 60,000 ms
            "00000000000000000000000000000000"    // a free slot
            "7fffffffffffffff0000"                //
            "00000003000000030000000600000007"    // three free tables
            "5c423d15159a7a8a");                  // checksum
}

TEST(StoreFormatTest, AShortKeyADeadlineAndTheirRow) {
  EXPECT_EQ(hex(StoredKey("key", 1).bytes()), "6b6579");
  EXPECT_EQ(hex(encode_deadline(kStart).view()), "000001a3185c5000");
  EXPECT_EQ(hex(ExpiryKey(kStart, "key").bytes()), "000001a3185c50006b6579");
}

TEST(StoreFormatTest, ALongKeyAndItsValue) {
  const std::string key(503, 'k');
  const std::string form(StoredKey(key, 0x0123456789abcdef).bytes());
  EXPECT_EQ(form.substr(0, 487), key.substr(0, 487));
  EXPECT_EQ(hex(form.substr(487)), "20e635ad5b6f6db6e706e5e8e41df736") << "XXH3, 128 bits";

  std::string value(long_value_bytes(key.size(), 1), '\0');
  *begin_long_value(value.data(), key) = 'v';
  EXPECT_EQ(hex(value.substr(0, 6)), "000001f76b6b");
  EXPECT_EQ(value.substr(4), key + "v");
}

// --- A store, as LMDB alone sees it --------------------------------------------------------------

using Table = std::map<std::string, std::string>;

class StoreFileTest : public OpenStoreFixture {
 protected:
  // All tables of the closed store; the records of the main table that are no tables are in "".
  std::map<std::string, Table> tables() {
    must(store_.close());
    MDB_env* env = nullptr;
    MDB_txn* txn = nullptr;
    MDB_dbi main = 0;
    check(mdb_env_create(&env));
    check(mdb_env_set_maxdbs(env, 100));
    check(mdb_env_open(env, path_.c_str(), MDB_NOSUBDIR | MDB_RDONLY | MDB_NOLOCK, 0600));
    check(mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn));
    check(mdb_dbi_open(txn, nullptr, 0, &main));
    std::map<std::string, Table> result;
    for (const auto& [name, value] : rows(txn, main)) {
      MDB_dbi dbi = 0;
      if (mdb_dbi_open(txn, name.c_str(), 0, &dbi) == MDB_SUCCESS) {
        unsigned flags = 0;
        check(mdb_dbi_flags(txn, dbi, &flags));
        EXPECT_EQ(flags, 0u) << "a plain table";
        result[name] = rows(txn, dbi);
      } else {
        result[""][name] = value;
      }
    }
    mdb_txn_abort(txn);
    mdb_env_close(env);
    return result;
  }

 private:
  static void check(int code) {
    if (code != MDB_SUCCESS) throw std::runtime_error(mdb_strerror(code));
  }
  static Table rows(MDB_txn* txn, MDB_dbi dbi) {
    MDB_cursor* cursor = nullptr;
    check(mdb_cursor_open(txn, dbi, &cursor));
    Table result;
    MDB_val key{};
    MDB_val value{};
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == MDB_SUCCESS) {
      result.emplace(std::string(static_cast<char*>(key.mv_data), key.mv_size),
                     std::string(static_cast<char*>(value.mv_data), value.mv_size));
    }
    mdb_cursor_close(cursor);
    return result;
  }
};

std::string deadline_bytes(Time deadline) { return std::string(encode_deadline(deadline).view()); }

TEST_F(StoreFileTest, AStoreWithoutTtlsHasOneTableOfRawValues) {
  must(store_.put("a", "1"));
  must(store_.put("b", ""));
  const auto all = tables();

  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all.at("t1"), (Table{{"a", "1"}, {"b", ""}}));
  ASSERT_EQ(all.at("").size(), 2u);
  EXPECT_EQ(all.at("").at("log").size(), 48u) << "ids of store and log, position, chain";
  EXPECT_EQ(all.at("").at("log").substr(16, 16), std::string(16, '\0')) << "closed: no log";
  const Catalog catalog = must(Catalog::decode(all.at("").at("mayfly")));
  EXPECT_EQ(catalog.tables(), 1u);
  EXPECT_NE(catalog.hash_seed(), 0u);
}

// Lesson A18: a crash in between would leave a file that is half a store.
TEST_F(StoreFileTest, AStoreIsMadeInOneTransaction) { EXPECT_EQ(transaction_of(store_), 1u); }

TEST_F(StoreFileTest, TwoStoresHaveTwoSeeds) {
  const auto first = tables();
  std::filesystem::remove(path_);
  store_ = open();
  const auto second = tables();
  EXPECT_NE(must(Catalog::decode(first.at("").at("mayfly"))).hash_seed(),
            must(Catalog::decode(second.at("").at("mayfly"))).hash_seed());
}

TEST_F(StoreFileTest, TheFirstTtlMakesTheTwoIndexes) {
  must(store_.put("plain", "1"));
  must(store_.put("b", "2", 10s));
  must(store_.put("a", "3", 20s));
  const auto all = tables();

  EXPECT_EQ(all.size(), 4u);
  EXPECT_EQ(all.at("t1"), (Table{{"a", "3"}, {"b", "2"}, {"plain", "1"}}));
  const std::string ten = deadline_bytes(kStart + 10s);
  const std::string twenty = deadline_bytes(kStart + 20s);
  EXPECT_EQ(all.at("t2"), (Table{{"a", twenty}, {"b", ten}}));
  EXPECT_EQ(all.at("t3"), (Table{{ten + "b", ""}, {twenty + "a", ""}}));
}

TEST_F(StoreFileTest, TheIndexesHaveNoRowsLeftOfWhatIsGone) {
  must(store_.put("erased", "v", 10s));
  must(store_.put("moved", "v", 10s));
  must(store_.put("plain", "v", 10s));
  must(store_.put("persisted", "v", 10s));
  must(store_.put("due", "v", 1s));
  must(store_.erase("erased"));
  must(store_.expire("moved", 30s));
  must(store_.put("plain", "v"));
  must(store_.persist("persisted"));
  clock_.advance(1s);
  must(store_.purge_expired());
  const auto all = tables();

  EXPECT_EQ(all.at("t1"), (Table{{"moved", "v"}, {"persisted", "v"}, {"plain", "v"}}));
  const std::string thirty = deadline_bytes(kStart + 30s);
  EXPECT_EQ(all.at("t2"), (Table{{"moved", thirty}}));
  EXPECT_EQ(all.at("t3"), (Table{{thirty + "moved", ""}}));
}

TEST_F(StoreFileTest, LongKeysStandInTheirStoredForm) {
  const std::string key(1'000, 'k');
  must(store_.put(key, "value", 10s));
  const auto all = tables();

  const Catalog catalog = must(Catalog::decode(all.at("").at("mayfly")));
  const std::string form(StoredKey(key, catalog.hash_seed()).bytes());
  const std::string ten = deadline_bytes(kStart + 10s);
  EXPECT_EQ(all.at("t1"), (Table{{form, std::string("\0\0\3\350", 4) + key + "value"}}));
  EXPECT_EQ(all.at("t2"), (Table{{form, ten}}));
  EXPECT_EQ(all.at("t3"), (Table{{ten + form, ""}}));
}

TEST_F(StoreFileTest, EachFamilyHasTablesOfItsOwnAndADroppedOneLeavesThemEmpty) {
  const Family users = must(store_.create_family("users"));
  const Family carts = must(store_.create_family("carts"));
  must(store_.put("u", "1", 10s, users));
  must(store_.put("c", "2", {}, carts));
  must(store_.drop_family("users"));
  const auto all = tables();

  EXPECT_EQ(all.size(), 6u);
  EXPECT_EQ(all.at("t1"), Table());
  EXPECT_EQ(all.at("t2"), Table());
  EXPECT_EQ(all.at("t3"), (Table{{"c", "2"}}));
  EXPECT_EQ(all.at("t4"), Table());
  EXPECT_EQ(all.at("t5"), Table());
}

}  // namespace store_format_test
}  // namespace mayfly::internal
