// SPDX-License-Identifier: Apache-2.0
// The catalog: what is encoded is decoded, what is damaged is refused, and tables and numbers are
// given out as they should be.

#include "store/txn/catalog.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <xxhash.h>

#include <algorithm>
#include <set>

#include "mayfly/store_options.h"
#include "store/api/store_fixture.h"

namespace mayfly::internal {
namespace catalog_test {

using namespace std::chrono_literals;

// One with a bit of everything: families with and without TTLs, a dropped one, free tables.
Catalog furnished() {
  Catalog catalog = Catalog::fresh(0x0123456789abcdef);
  const Family users = catalog.create("users");
  const Family carts = catalog.create("carts");
  catalog.create(std::string(kFamilyNameMax, 'n'));
  catalog.add_ttl_tables(users);
  catalog.add_ttl_tables(carts);
  catalog.set_default_ttl(users, 60s);
  catalog.drop(carts);
  return catalog;
}

// Makes the checksum right again, so that the rest is what is looked at.
std::string sealed(std::string bytes) {
  const std::size_t body = bytes.size() - 8;
  const std::uint64_t sum = XXH64(bytes.data(), body, 0);
  for (std::size_t i = 0; i < 8; ++i) bytes[body + i] = static_cast<char>(sum >> (56 - 8 * i));
  return bytes;
}

TEST(CatalogTest, AFreshOneHasTheDefaultFamilyInTableOne) {
  const Catalog catalog = Catalog::fresh(7);
  const FamilyRecord* const record = catalog.find(Family());

  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->name, kDefaultFamilyName);
  EXPECT_EQ(record->data, 1u);
  EXPECT_EQ(record->keys, 0u);
  EXPECT_EQ(record->deadlines, 0u);
  EXPECT_EQ(catalog.hash_seed(), 7u);
  EXPECT_EQ(catalog.generation(), 1u);
  EXPECT_EQ(catalog.tables(), 1u);
  EXPECT_EQ(catalog.find("default"), Family());
}

TEST(CatalogTest, IsDecodedAsItWasEncoded) {
  for (const Catalog& catalog : {Catalog::fresh(0), Catalog::fresh(~0ull), furnished()}) {
    const std::string bytes = catalog.encode();
    EXPECT_EQ(must(Catalog::decode(bytes)), catalog);
    EXPECT_EQ(Catalog::generation_in(bytes), catalog.generation());
  }
}

TEST(CatalogTest, IsRefusedIfAnyBitIsOther) {
  const std::string bytes = furnished().encode();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int bit : {0, 3, 7}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      const auto decoded = Catalog::decode(damaged);
      const bool in_version = i == 6 || i == 7;
      ASSERT_FALSE(decoded.ok()) << "byte " << i;
      if (!in_version) {
        EXPECT_EQ(code_of(decoded), Code::corrupt) << "byte " << i;
      }
    }
  }
}

TEST(CatalogTest, IsRefusedAtAnyOtherLength) {
  const std::string bytes = furnished().encode();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(code_of(Catalog::decode(bytes.substr(0, length))), Code::corrupt) << length;
    Catalog::generation_in(bytes.substr(0, length));
  }
  EXPECT_EQ(code_of(Catalog::decode(bytes + '\0')), Code::corrupt);
  EXPECT_EQ(Catalog::generation_in(bytes.substr(0, 15)), 0u);
}

TEST(CatalogTest, OfALaterVersionIsUnsupportedAndSaysSo) {
  std::string bytes = furnished().encode();
  bytes[7] = 3;
  for (const std::string& each : {bytes, sealed(bytes)}) {
    const auto decoded = Catalog::decode(each);
    EXPECT_EQ(code_of(decoded), Code::unsupported);
    EXPECT_NE(message_of(decoded).find("3"), std::string::npos) << message_of(decoded);
    EXPECT_NE(message_of(decoded).find("2"), std::string::npos) << message_of(decoded);
  }
}

// A later version may be laid out as it likes behind its number.
TEST(CatalogTest, OfALaterVersionIsUnsupportedWhateverFollows) {
  std::string bytes("MAYFLY");
  bytes += std::string("\x00\x03", 2);
  EXPECT_EQ(code_of(Catalog::decode(bytes)), Code::unsupported);
  EXPECT_EQ(code_of(Catalog::decode(bytes + std::string(100, 'x'))), Code::unsupported);
}

TEST(CatalogTest, NoBytesMakeItCrash) {
  const bool holds = rc::check([](std::string bytes) {
    Catalog::generation_in(bytes);
    RC_ASSERT(!Catalog::decode(bytes).ok());
  });
  EXPECT_TRUE(holds);
}

// With a right checksum the contents alone have to be good enough not to lead anybody astray.
TEST(CatalogTest, NoContentsMakeItCrashEvenIfTheChecksumIsRight) {
  const std::string good = furnished().encode();
  const bool holds = rc::check([&good] {
    std::string bytes = good;
    const int changes = *rc::gen::inRange(1, 4);
    for (int i = 0; i < changes; ++i) {
      bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
    }
    if (*rc::gen::inRange(0, 4) == 0) bytes.resize(*rc::gen::inRange<std::size_t>(8, bytes.size()));
    const auto decoded = Catalog::decode(sealed(bytes));
    if (!decoded.ok()) return;
    RC_ASSERT(decoded->tables() <= 3 * kFamiliesMax);
    RC_ASSERT(decoded->find(Family()) != nullptr);
    for (const Family family : decoded->families()) {
      const FamilyRecord* const record = decoded->find(family);
      RC_ASSERT(record->data <= decoded->tables());
      RC_ASSERT(record->keys <= decoded->tables());
      RC_ASSERT(record->deadlines <= decoded->tables());
    }
  });
  EXPECT_TRUE(holds);
}

TEST(CatalogTest, NumbersOfFamiliesAreGivenOnce) {
  Catalog catalog = Catalog::fresh(0);
  std::set<std::uint32_t> ids;
  for (int i = 0; i < 50; ++i) {
    const Family family = catalog.create("family");
    EXPECT_TRUE(ids.insert(Catalog::id_of(family)).second);
    EXPECT_EQ(Catalog::slot_of(family), 1u) << "but slots again and again";
    catalog.drop(family);
    EXPECT_EQ(catalog.find(family), nullptr);
    EXPECT_EQ(catalog.find("family"), std::nullopt);
    catalog = must(Catalog::decode(catalog.encode()));
  }
}

TEST(CatalogTest, TablesOfDroppedFamiliesAreUsedAgain) {
  Catalog catalog = Catalog::fresh(0);
  for (int i = 0; i < 50; ++i) {
    const Family family = catalog.create("family");
    catalog.add_ttl_tables(family);
    EXPECT_EQ(catalog.tables(), 4u);
    catalog.drop(family);
  }
}

TEST(CatalogTest, NoTwoFamiliesShareATable) {
  const bool holds = rc::check([] {
    Catalog catalog = Catalog::fresh(0);
    const int steps = *rc::gen::inRange(1, 100);
    for (int i = 0; i < steps; ++i) {
      const std::string name = std::to_string(*rc::gen::inRange(0, 8));
      const auto family = catalog.find(name);
      if (!family) {
        catalog.create(name);
      } else if (catalog.find(*family)->keys == 0 && *rc::gen::inRange(0, 2) == 0) {
        catalog.add_ttl_tables(*family);
      } else {
        catalog.drop(*family);
      }
    }
    std::set<std::uint32_t> tables;
    for (const Family family : catalog.families()) {
      const FamilyRecord* const record = catalog.find(family);
      for (const std::uint32_t table : {record->data, record->keys, record->deadlines}) {
        RC_ASSERT(table == 0 || tables.insert(table).second);
        RC_ASSERT(table <= catalog.tables());
      }
      RC_ASSERT((record->keys == 0) == (record->deadlines == 0));
    }
    RC_ASSERT(must(Catalog::decode(catalog.encode())) == catalog);
  });
  EXPECT_TRUE(holds);
}

TEST(CatalogTest, EveryChangeMakesANewGeneration) {
  Catalog catalog = Catalog::fresh(0);
  std::uint64_t last = catalog.generation();
  const auto grew = [&] {
    return std::exchange(last, catalog.generation()) < catalog.generation();
  };
  const Family family = catalog.create("family");
  EXPECT_TRUE(grew());
  catalog.add_ttl_tables(family);
  EXPECT_TRUE(grew());
  catalog.set_default_ttl(family, 1s);
  EXPECT_TRUE(grew());
  catalog.drop(family);
  EXPECT_TRUE(grew());
}

TEST(CatalogTest, NamesHaveOneByteToTwoHundredAndFiftyFive) {
  EXPECT_EQ(code_of(check_family_name("")), Code::invalid);
  EXPECT_EQ(code_of(check_family_name(std::string(256, 'n'))), Code::invalid);
  EXPECT_TRUE(check_family_name("n").ok());
  EXPECT_TRUE(check_family_name(std::string(255, '\0')).ok());
}

}  // namespace catalog_test
}  // namespace mayfly::internal
