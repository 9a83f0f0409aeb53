// SPDX-License-Identifier: Apache-2.0
// What do look-ups and insertions cost in the table and in the hashes built on it, next to
// std::unordered_map, at a thousand, a million and ten million entries?
//
//   cmake --build build/release --target keyspace.table_bench
//   build/release/benches/keyspace.table_bench

#include <benchmark/benchmark.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "keyspace/hasher.h"
#include "keyspace/members/member_table.h"
#include "keyspace/members/packed_members.h"
#include "keyspace/table.h"

namespace mayfly {
namespace {

std::vector<std::string> names(std::int64_t count) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < count; ++i)
    names.push_back("key:" + std::to_string(1'000'000'000 + i));
  return names;
}

// Look-ups come in no order, as from many clients.
std::vector<Slot> any_order(std::int64_t count) {
  Random random(1);
  std::vector<Slot> order(1 << 16);
  for (Slot& slot : order)
    slot = static_cast<Slot>(random.below(static_cast<std::uint64_t>(count)));
  return order;
}

class Keys {
 public:
  explicit Keys(std::vector<std::string> names) : names_(std::move(names)) {}

  void insert_all() {
    const auto hash_of = [this](Slot slot) { return hash_bytes(names_[slot], 7); };
    for (Slot slot = 0; slot < names_.size(); ++slot) table_.insert(hash_of(slot), slot, hash_of);
  }

  void erase_all() {
    const auto hash_of = [this](Slot slot) { return hash_bytes(names_[slot], 7); };
    for (Slot slot = 0; slot < names_.size(); ++slot) table_.erase(hash_of(slot), slot, hash_of);
  }

  Slot find(std::string_view name) const {
    return table_.find(hash_bytes(name, 7), [&](Slot slot) { return names_[slot] == name; });
  }

  const std::string& name(Slot slot) const { return names_[slot]; }

 private:
  std::vector<std::string> names_;
  Table table_;
};

void find_in_table(benchmark::State& state) {
  Keys keys(names(state.range(0)));
  keys.insert_all();
  const std::vector<Slot> order = any_order(state.range(0));
  std::size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(keys.find(keys.name(order[i++ % order.size()])));
  }
}
BENCHMARK(find_in_table)->Arg(1'000)->Arg(1'000'000)->Arg(10'000'000);

void find_in_unordered_map(benchmark::State& state) {
  const std::vector<std::string> keys = names(state.range(0));
  std::unordered_map<std::string, Slot> map;
  for (Slot slot = 0; slot < keys.size(); ++slot) map.emplace(keys[slot], slot);
  const std::vector<Slot> order = any_order(state.range(0));
  std::size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(map.find(keys[order[i++ % order.size()]]));
  }
}
BENCHMARK(find_in_unordered_map)->Arg(1'000)->Arg(1'000'000)->Arg(10'000'000);

void insert_into_table(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    Keys keys(names(state.range(0)));
    state.ResumeTiming();
    keys.insert_all();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(insert_into_table)->Arg(1'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void erase_from_table(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    Keys keys(names(state.range(0)));
    keys.insert_all();
    state.ResumeTiming();
    keys.erase_all();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(erase_from_table)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void insert_into_unordered_map(benchmark::State& state) {
  const std::vector<std::string> keys = names(state.range(0));
  for (auto _ : state) {
    std::unordered_map<std::string, Slot> map;
    for (Slot slot = 0; slot < keys.size(); ++slot) map.emplace(keys[slot], slot);
    benchmark::DoNotOptimize(map);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(insert_into_unordered_map)->Arg(1'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void put_into_member_table(benchmark::State& state) {
  const std::vector<std::string> fields = names(state.range(0));
  const bool has_deadlines = state.range(1) != 0;
  for (auto _ : state) {
    MemberTable hash(7, Payload::value);
    Random random(3);
    for (const std::string& field : fields) {
      const auto deadline = Time(Millis(static_cast<std::int64_t>(random.below(86'400'000))));
      hash.put(field, "thirteen byte", has_deadlines ? deadline : kNever);
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(put_into_member_table)
    ->Args({1'000'000, 0})
    ->Args({1'000'000, 1})
    ->Unit(benchmark::kMillisecond);

void take_due_from_member_table(benchmark::State& state) {
  const std::vector<std::string> fields = names(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    MemberTable hash(7, Payload::value);
    for (const std::string& field : fields) hash.put(field, "thirteen byte", Time());
    std::vector<std::string> taken;
    state.ResumeTiming();
    while (hash.take_due(Time(), 256, taken, nullptr) > 0) taken.clear();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(take_due_from_member_table)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

// A value replaced in a packed hash of so many fields.
void put_into_packed_members(benchmark::State& state) {
  const std::vector<std::string> fields = names(state.range(0));
  const Time deadline = state.range(1) != 0 ? Time(Millis(1'000)) : kNever;
  std::vector<char> bytes(64 * fields.size() + 64);
  std::size_t size = packed_create(bytes.data(), Payload::value);
  std::size_t i = 0;
  for (auto _ : state) {
    const std::string& field = fields[i++ % fields.size()];
    const PackedPut put = packed_plan_put({bytes.data(), size}, field, "thirteen byte", deadline);
    size = packed_apply(bytes.data(), size, put, field, "thirteen byte");
  }
}
BENCHMARK(put_into_packed_members)->Args({10, 0})->Args({10, 1})->Args({100, 0})->Args({100, 1});

void loop_over_packed_members(benchmark::State& state) {
  const std::vector<std::string> fields = names(state.range(0));
  std::vector<char> bytes(64 * fields.size() + 64);
  std::size_t size = packed_create(bytes.data(), Payload::value);
  for (const std::string& field : fields) {
    const PackedPut put =
        packed_plan_put({bytes.data(), size}, field, "thirteen byte", Time(Millis(1'000)));
    size = packed_apply(bytes.data(), size, put, field, "thirteen byte");
  }
  for (auto _ : state) {
    std::size_t sum = 0;
    PackedView({bytes.data(), size}).each([&](const Member& field) {
      return sum += field.value.size(), true;
    });
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(loop_over_packed_members)->Arg(100);

}  // namespace
}  // namespace mayfly
