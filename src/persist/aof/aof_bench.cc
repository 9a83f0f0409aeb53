// SPDX-License-Identifier: Apache-2.0
// What the append-only file costs: a command that is appended, a turn that is flushed to a real
// file (never synced), and a log that is loaded, without what its commands do.
//
//   cmake --build build/release --target persist.aof_bench
//   build/release/benches/persist.aof_bench

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "keyspace/keyspace_fixture.h"
#include "persist/aof/aof.h"
#include "persist/aof/aof_loader.h"
#include "resp/encode.h"

namespace mayfly {
namespace {

constexpr std::int64_t kCommandsInTurn = 32;

std::string command_of(int number) {
  std::string bytes;
  const std::string key = "key:" + std::to_string(100'000 + number);
  append_request(bytes,
                 std::initializer_list<std::string_view>{
                     "SET", key, "a value of 32 bytes, or nearly so", "PXAT", "1900000000000"});
  return bytes;
}

class Scratch {
 public:
  Scratch() {
    std::string pattern = std::filesystem::temp_directory_path() / "mayfly-aof-XXXXXX";
    path = ::mkdtemp(pattern.data());
  }
  ~Scratch() { std::filesystem::remove_all(path); }

  std::string path;
};

void append_and_flush(benchmark::State& state) {
  const Scratch scratch;
  SystemDisk disk;
  Aof aof(disk, {.directory = scratch.path + "/aof", .sync = AofSync::no});
  if (!aof.open()) return state.SkipWithError("cannot open");
  const std::string command = command_of(1);
  for (auto _ : state) {
    for (std::int64_t i = 0; i < kCommandsInTurn; ++i) aof.append(0, command);
    if (!aof.flush(at(0))) return state.SkipWithError("cannot flush");
  }
  state.SetItemsProcessed(state.iterations() * kCommandsInTurn);
  state.SetBytesProcessed(static_cast<std::int64_t>(aof.appended_offset()));
}
BENCHMARK(append_and_flush)->Iterations(30'000);  // 100 MB

class Nothing final : public AofApply {
  Status apply(int, Words words) override {
    benchmark::DoNotOptimize(words.data());
    return Done{};
  }
};

void load(benchmark::State& state) {
  const Scratch scratch;
  SystemDisk disk;
  const AofOptions options = {.directory = scratch.path + "/aof", .sync = AofSync::no};
  Aof aof(disk, options);
  if (!aof.open()) return state.SkipWithError("cannot open");
  constexpr int kCommands = 200'000;
  for (int i = 0; i < kCommands; ++i) aof.append(0, command_of(i));
  if (!aof.flush(at(0))) return state.SkipWithError("cannot flush");
  KeyspaceFixture fixture;
  Nothing nothing;
  for (auto _ : state) {
    AofLoader loader(disk, options, fixture.keyspace, nothing, {});
    for (;;) {
      const Result<bool> done = loader.step(1'000);
      if (!done) return state.SkipWithError(done.error().message.c_str());
      if (*done) break;
    }
  }
  state.SetItemsProcessed(state.iterations() * kCommands);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(aof.size()));
}
BENCHMARK(load)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace mayfly
