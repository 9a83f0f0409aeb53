// SPDX-License-Identifier: Apache-2.0
// How fast is the checksum of a file, for what a buffer holds and for a few bytes?
//
//   cmake --build build/release --target persist.crc64_bench
//   build/release/benches/persist.crc64_bench

#include <benchmark/benchmark.h>

#include <string>

#include "persist/crc64.h"

namespace mayfly {
namespace {

void checksum(benchmark::State& state) {
  const std::string bytes(static_cast<std::size_t>(state.range(0)), 'x');
  std::uint64_t crc = 0;
  for (auto _ : state) benchmark::DoNotOptimize(crc = crc64(crc, bytes));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(checksum)->Arg(13)->Arg(100)->Arg(65'536);

}  // namespace
}  // namespace mayfly
