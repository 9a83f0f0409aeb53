// SPDX-License-Identifier: Apache-2.0
// Fuzzes a whole server: any bytes from a client, with the clock moving. Built by hand:
//
//   sources=$(ls src/{base,expiry,resp,keyspace,commands,net,server}/*.cc |
//             grep -vE '_(test|bench|fuzz)\.cc')
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -Isrc $sources
//       src/server/server_fuzz.cc -lfmt -lxxhash -o /tmp/server_fuzz
//   /tmp/server_fuzz -max_len=4096 -max_total_time=60

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "server/server_stream.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string wrong = mayfly::run_stream({reinterpret_cast<const char*>(data), size});
  if (wrong.empty()) return 0;
  std::fprintf(stderr, "%s\n", wrong.c_str());
  std::abort();
}
