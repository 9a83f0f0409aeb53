// SPDX-License-Identifier: Apache-2.0
// The fast checksum beside a slow one.

#include "persist/crc64.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>

namespace mayfly {
namespace crc64_test {

// Bit by bit, as the definition has it.
std::uint64_t by_the_book(std::uint64_t crc, std::string_view bytes) {
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x95ac9329ac4bc9b5 : 0);
    }
  }
  return crc;
}

TEST(Crc64, HasTheCheckValueOfItsDefinition) {
  EXPECT_EQ(crc64(0, "123456789"), 0xe9c6d914c4b8d9ca);
  EXPECT_EQ(crc64(0, ""), 0u);
  EXPECT_EQ(crc64(7, ""), 7u);
}

TEST(Crc64, AgreesWithTheDefinitionForAnyBytes) {
  EXPECT_TRUE(rc::check([](const std::string& bytes, std::uint64_t before) {
    const auto repeated = *rc::gen::inRange(1, 6);
    std::string longer;
    for (int i = 0; i < repeated; ++i) longer += bytes + static_cast<char>(i);
    RC_ASSERT(crc64(before, longer) == by_the_book(before, longer));
  }));
}

TEST(Crc64, OfPartsIsThatOfTheWhole) {
  const std::string bytes = "A mayfly lives for a day, and lays its eggs before the evening.";
  const std::string_view whole = bytes;
  for (std::size_t i = 0; i <= whole.size(); ++i) {
    EXPECT_EQ(crc64(crc64(0, whole.substr(0, i)), whole.substr(i)), by_the_book(0, whole)) << i;
  }
}

}  // namespace crc64_test
}  // namespace mayfly
