// SPDX-License-Identifier: Apache-2.0
// How fast does an RDB file load? A million fields, in hashes of 10, of 100 and in one, without
// deadlines and with one for each field; then a million strings. From memory: no disk is measured.
//
//   make microbench BENCH=persist.rdb_loader_bench

#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>

#include "keyspace/keyspace_fixture.h"
#include "mayfly/random.h"
#include "persist/rdb/rdb_loader.h"
#include "persist/rdb/rdb_save.h"

namespace mayfly {
namespace {

constexpr std::int64_t kFields = 1'000'000;

std::string saved(std::int64_t fields_a_hash, bool has_deadlines) {
  KeyspaceFixture fixture;
  Random random(1);
  for (std::int64_t i = 0; i < kFields; i += fields_a_hash) {
    const std::string key = "user:" + std::to_string(i);
    if (fields_a_hash == 1) {
      fixture.database.put_string(fixture.context, key, "value:" + std::to_string(i));
      continue;
    }
    const Slot slot = fixture.database.make_members(fixture.context, ValueType::hash, key);
    MembersRef hash = fixture.database.members(fixture.context, slot);
    for (std::int64_t j = 0; j < fields_a_hash; ++j) {
      const auto ttl = static_cast<std::int64_t>(1'000'000 + random.below(86'400'000));
      hash.put("field:" + std::to_string(j), "value:" + std::to_string(i + j),
               has_deadlines ? fixture.in(ttl) : kNever);
    }
  }
  StringSink sink;
  if (!save_rdb(fixture.keyspace, sink, {}, {})) std::abort();
  return std::move(sink.bytes);
}

void load(benchmark::State& state) {
  const std::string bytes = saved(state.range(0), state.range(1) != 0);
  for (auto _ : state) {
    auto fixture = std::make_unique<KeyspaceFixture>();
    StringSource source(bytes);
    RdbLoader loader(source, fixture->keyspace, {.now = fixture->context.now});
    Result<bool> ended = false;
    while (ended && !*ended) ended = loader.step(1000);
    if (!ended) std::abort();
    state.PauseTiming();
    fixture.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * kFields);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}
BENCHMARK(load)
    ->ArgNames({"fields", "deadlines"})
    ->Args({10, 0})
    ->Args({10, 1})
    ->Args({100, 0})
    ->Args({100, 1})
    ->Args({kFields, 0})
    ->Args({kFields, 1})
    ->Args({1, 0})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace mayfly
