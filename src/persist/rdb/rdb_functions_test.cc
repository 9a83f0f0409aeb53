// SPDX-License-Identifier: Apache-2.0
// Payloads of FUNCTION DUMP: they come back as they were, and damage is found.

#include "persist/rdb/rdb_functions.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "persist/rdb/rdb_format.h"
#include "persist/rdb/rdb_restore.h"

namespace mayfly {
namespace rdb_functions_test {

using Codes = std::vector<std::string>;

constexpr const char* kWrongChecksum = "DUMP payload version or checksum are wrong";

// The codes, or what is wrong.
Codes read(std::string_view payload) {
  const Result<Codes> codes = read_functions(payload);
  return codes ? *codes : Codes{codes.error().message};
}

// The bytes with a sound end.
std::string sealed(std::string bytes, unsigned version = rdb::kPlainVersion) {
  append_payload_footer(bytes, version);
  return bytes;
}

TEST(RdbFunctions, ComeBackAsTheyWere) {
  for (const Codes& codes :
       {Codes{}, Codes{"#!lua name=a\nx"}, Codes{"", std::string(3, '\0'), "12345"},
        Codes{std::string(100'000, 'x'), "b", std::string(70, 'y')}}) {
    EXPECT_EQ(read(dump_functions(codes)), codes);
  }
}

TEST(RdbFunctions, APayloadIsAsOthersWriteIt) {
  EXPECT_EQ(sealed("\xf5\x03"
                   "abc"),
            dump_functions(Codes{"abc"}));
  EXPECT_EQ(dump_functions(Codes{}).size(), kPayloadFooterSize);
  EXPECT_EQ(read(sealed("\xf5\x03"
                        "abc"
                        "\xf5\xc0\x07",
                        11)),
            (Codes{"abc", "7"}));
}

TEST(RdbFunctions, DamageIsFound) {
  const std::string payload = dump_functions(Codes{"#!lua name=a\nx", std::string(100, 'x')});
  for (std::size_t i = 0; i < payload.size(); ++i) {
    EXPECT_EQ(read(payload.substr(0, i)), Codes{kWrongChecksum});
    std::string damaged = payload;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_EQ(read(damaged), Codes{kWrongChecksum}) << i;
  }
  EXPECT_EQ(read(payload + "x"), Codes{kWrongChecksum});
}

TEST(RdbFunctions, WhatIsNoFunctionIsRefused) {
  EXPECT_EQ(read(sealed("\xf6\x03"
                        "abc")),
            Codes{"Pre-GA function format not supported"});
  EXPECT_EQ(read(sealed(std::string("\0\x03"
                                    "abc",
                                    5))),
            Codes{"given type is not a function"});
  EXPECT_EQ(read(sealed("\xf5\x03"
                        "abc\x05")),
            Codes{"given type is not a function"});
  EXPECT_EQ(read(sealed("\xff")), Codes{"given type is not a function"});
}

TEST(RdbFunctions, TextsThatAreCutAreRefused) {
  const Codes cut{"failed loading the given functions payload"};
  EXPECT_EQ(read(sealed("\xf5")), cut);
  EXPECT_EQ(read(sealed("\xf5\x04"
                        "abc")),
            cut);
  EXPECT_EQ(read(sealed("\xf5\x03"
                        "abc"
                        "\xf5\x01")),
            cut);
  EXPECT_EQ(read(sealed("\xf5\xc2\x01")), cut);           // a number
  EXPECT_EQ(read(sealed("\xf5\xc3\x05\x10zzzzz")), cut);  // compressed, and wrong
  EXPECT_EQ(read(sealed("\xf5\x81\xff\xff\xff\xff\xff\xff\xff\xff")), cut);  // of 2^64 - 1 bytes
  EXPECT_EQ(read(sealed("\xf5\xc4")), cut);                                  // no such encoding
}

}  // namespace rdb_functions_test
}  // namespace mayfly
