// SPDX-License-Identifier: Apache-2.0
// How many bytes a second does saving write, of hashes with 10, 100 and 1,000 fields of 13 + 13
// bytes, with deadlines and without; and of strings?
//
// The sink throws everything away: this is what the processor does, not the disk.
//
//   cmake --build build/release --target persist.rdb_save_bench
//   build/release/benches/persist.rdb_save_bench

#include <benchmark/benchmark.h>

#include <string>

#include "mayfly/random.h"
#include "persist/rdb/rdb_save.h"

namespace mayfly {
namespace {

constexpr int kFields = 1'000'000;
constexpr Time kNow = Time(Millis(1'700'000'000'000));

class Silence final : public KeyspaceListener {
 public:
  void key_expired(Database&, std::string_view, FoundBy) override {}
  void members_expired(Database&, const ExpiredMembers&) override {}
  void key_evicted(Database&, std::string_view) override {}
};

class Nowhere final : public ByteSink {
 public:
  Status write(std::string_view) override { return Done{}; }
};

// 13 bytes, as `mayfly bench server` has them.
std::string name(std::string_view prefix, int i) {
  std::string digits = std::to_string(100'000'000 + i);
  return std::string(prefix) + digits;
}

void save(benchmark::State& state, Keyspace& keyspace) {
  std::uint64_t bytes = 0;
  for (auto _ : state) {
    Nowhere sink;
    bytes += save_rdb(keyspace, sink, {}, {})->bytes;
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
  state.SetItemsProcessed(state.iterations() * kFields);
}

void save_hashes(benchmark::State& state, bool with_deadlines) {
  Silence silence;
  Keyspace keyspace({}, silence);
  const ExecContext context{.now = kNow};
  Random random(1);
  const auto fields = static_cast<int>(state.range(0));
  for (int i = 0; i < kFields; i += fields) {
    const Slot slot = keyspace[0].make_members(context, ValueType::hash, name("hash", i));
    for (int j = 0; j < fields; ++j) {
      const Time deadline = kNow + Millis(1 + random.below(3'600'000));
      keyspace[0]
          .members(context, slot)
          .put(name("fld:", j), name("val:", static_cast<int>(random.below(1e8))),
               with_deadlines ? deadline : kNever);
    }
  }
  save(state, keyspace);
}
BENCHMARK_CAPTURE(save_hashes, with_deadlines, true)->Arg(10)->Arg(100)->Arg(1000);
BENCHMARK_CAPTURE(save_hashes, without, false)->Arg(10)->Arg(100)->Arg(1000);

void save_strings(benchmark::State& state) {
  Silence silence;
  Keyspace keyspace({}, silence);
  const ExecContext context{.now = kNow};
  Random random(1);
  for (int i = 0; i < kFields; ++i) {
    std::string value(static_cast<std::size_t>(state.range(0)), ' ');
    for (char& byte : value) byte = static_cast<char>('a' + random.below(26));
    keyspace[0].put_string(context, name("key:", i), value);
  }
  save(state, keyspace);
}
BENCHMARK(save_strings)->Arg(13)->Arg(100);

}  // namespace
}  // namespace mayfly
