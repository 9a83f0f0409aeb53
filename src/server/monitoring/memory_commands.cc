// SPDX-License-Identifier: Apache-2.0
// MEMORY: where memory goes.

#include <fmt/format.h>

#include <algorithm>

#include "keyspace/value.h"
#include "server/core/server_call.h"
#include "server/monitoring/info.h"
#include "server/monitoring/memory.h"
#include "server/monitoring/stats.h"
#include "server/scripting/functions.h"
#include "server/scripting/scripting.h"

namespace mayfly {
namespace {

constexpr std::size_t kPlaceBytes = 16;  // of a key in the table and in the list of nodes

std::size_t key_bytes(const Database& database, Slot slot) {
  const KeyNode& node = database.node(slot);
  std::size_t bytes = allocated_bytes(node) + kPlaceBytes;
  if (database.deadline(slot) != kNever) bytes += kDeadlineBytes;
  if (database.earliest_member_deadline(slot) != kNever) bytes += kDeadlineBytes;
  return bytes;
}

// A map whose head is written when its fields are counted.
class MapReply {
 public:
  explicit MapReply(Reply& reply) : reply_(reply), place_(reply.defer()) {}
  ~MapReply() { reply_.map_at(place_, count_); }
  MapReply(const MapReply&) = delete;
  MapReply& operator=(const MapReply&) = delete;

  void add(std::string_view name) {
    reply_.bulk(name);
    ++count_;
  }
  void add(std::string_view name, std::size_t value) {
    add(name);
    reply_.integer(static_cast<std::int64_t>(value));
  }
  void add_number(std::string_view name, double value) {
    add(name);
    reply_.number(value);
  }
  void add_excess(std::string_view name, std::size_t whole, std::size_t part) {
    add_number(fmt::format("{}.ratio", name), ratio(whole, part));
    add(fmt::format("{}.bytes", name));
    reply_.integer(static_cast<std::int64_t>(whole) - static_cast<std::int64_t>(part));
  }

 private:
  Reply& reply_;
  std::size_t place_;
  std::size_t count_ = 0;
};

// Those that clients can select. In a cluster, slots that arrive are stored in one more.
int shown_databases(const ServerParts& server) {
  return server.config.cluster_enabled ? 1 : server.keyspace.count();
}

void add_databases(MapReply& map, Call& call) {
  Reply& reply = call.reply();
  Keyspace& keyspace = call.keyspace();
  for (int number = 0; number < shown_databases(parts_of(call)); ++number) {
    const Database& database = keyspace[number];
    const bool is_own = number == call.database().number();  // shown even if it is empty
    if (database.size(call.context()) == 0 && !is_own) continue;
    map.add(fmt::format("db.{}", number));
    reply.map(2);
    reply.bulk("overhead.hashtable.main");
    reply.integer(static_cast<std::int64_t>(database.table_bytes()));
    reply.bulk("overhead.hashtable.expires");
    reply.integer(static_cast<std::int64_t>(deadline_bytes(database)));
  }
}

void add_allocator(MapReply& map, const MemoryNumbers& numbers) {
  map.add("allocator.allocated", numbers.allocated);
  map.add("allocator.active", numbers.active);
  map.add("allocator.resident", numbers.resident);
  map.add_excess("allocator-fragmentation", numbers.active, numbers.allocated);
  map.add_excess("allocator-rss", numbers.resident, numbers.active);
  map.add_excess("rss-overhead", numbers.rss, numbers.resident);
  map.add_number("fragmentation", ratio(numbers.rss, numbers.used));
  map.add("fragmentation.bytes", numbers.rss > numbers.used ? numbers.rss - numbers.used : 0);
}

std::string memory_report(const ServerParts& server) {
  constexpr std::size_t kLittle = 5'000'000;
  const MemoryNumbers numbers = memory_numbers();
  const std::size_t peak = std::max<std::size_t>(server.stats.memory_peak, numbers.used);
  if (numbers.used < kLittle) return "Too little memory is in use to diagnose.\n";
  std::string report;
  if (ratio(peak, numbers.used) > 1.5) {
    report += fmt::format(
        "- {} are in use, but {} were once; what the process holds ({}) shrinks "
        "later. MEMORY PURGE gives empty pages back now.\n",
        human_bytes(numbers.used), human_bytes(peak), human_bytes(numbers.rss));
  }
  if (ratio(numbers.active, numbers.allocated) > 1.4) {
    report += "- Pages are only partly filled, as after many removals. New entries fill them.\n";
  }
  const std::uint64_t most = server.config.maxmemory;
  if (most > 0 && numbers.used > most - most / 10) {
    report += fmt::format("- Memory is {} % of maxmemory; the policy is {}.\n",
                          numbers.used * 100 / most, name_of(server.config.maxmemory_policy));
  }
  return report.empty() ? "No problem found.\n" : report;
}

// MEMORY USAGE key [SAMPLES count]: the count is read and not needed, nothing is estimated.
void memory_usage(Call& call) {
  if (call.count() != 3 && (call.count() != 5 || !call.is(3, "samples"))) {
    return call.fail_syntax();
  }
  if (call.count() == 5) {
    const auto samples = call.integer(4);
    if (!samples) return;
    if (*samples < 0) return call.fail_syntax();
  }
  const Slot slot = call.database().peek(call.context(), call.word(2));
  if (slot == kNoSlot) return call.reply().null();
  call.reply().integer(static_cast<std::int64_t>(key_bytes(call.database(), slot)));
}

void memory_stats(Call& call) {
  const ServerParts& server = parts_of(call);
  const MemoryNumbers numbers = memory_numbers();
  const std::size_t peak = std::max<std::size_t>(server.stats.memory_peak, numbers.used);
  std::size_t keys = 0;
  for (int i = 0; i < shown_databases(server); ++i) keys += server.keyspace[i].size(call.context());

  MapReply map(call.reply());
  map.add("peak.allocated", peak);
  map.add("total.allocated", numbers.used);
  map.add("startup.allocated", server.stats.memory_startup);
  const MemoryOverhead beside = memory_overhead(server);
  map.add("replication.backlog", beside.backlog);
  map.add("clients.slaves", beside.replica_clients);
  map.add("clients.normal", beside.normal_clients);
  map.add("cluster.links", 0);
  map.add("aof.buffer", beside.aof_buffer);
  map.add("lua.caches", server.scripting.script_bytes());
  map.add("functions.caches", server.scripting.functions().code_bytes());
  add_databases(map, call);
  const std::size_t data = numbers.used - std::min(beside.total(), numbers.used);
  map.add("overhead.total", beside.total());
  map.add("keys.count", keys);
  map.add("keys.bytes-per-key", keys == 0 ? 0 : data / keys);
  map.add("dataset.bytes", data);
  map.add_number("dataset.percentage", ratio(data, numbers.used) * 100);
  map.add_number("peak.percentage", ratio(numbers.used, peak) * 100);
  add_allocator(map, numbers);
}

void memory_doctor(Call& call) { call.reply().verbatim("txt", memory_report(parts_of(call))); }

void memory_malloc_stats(Call& call) { call.reply().verbatim("txt", allocator_report()); }

void memory_purge(Call& call) {
  purge_memory();
  call.reply().ok();
}

// clang-format off
constexpr Command kMemoryRows[] = {
    {"usage", memory_usage, -3, flag::readonly, {2, 2, 1, access::ro}, "server", "4.0.0",
     "key [SAMPLES count:int]", "Returns how many bytes a key and its value take.", {}, "memory"},
    {"stats", memory_stats, 2, 0, {}, "server", "4.0.0", "", "Returns where memory goes.", {},
     "memory"},
    {"doctor", memory_doctor, 2, 0, {}, "server", "4.0.0", "", "Checks for problems with memory.",
     {}, "memory"},
    {"malloc-stats", memory_malloc_stats, 2, flag::loading, {}, "server", "4.0.0", "",
     "Returns the statistics of the allocator.", {}, "memory"},
    {"purge", memory_purge, 2, flag::loading, {}, "server", "4.0.0", "",
     "Gives empty pages back to the system.", {}, "memory"},
    {"help", reply_help, 2, flag::loading | flag::stale, {}, "server", "4.0.0", "",
     "Prints this help.", {}, "memory"},
};

constexpr Command kMemoryCommands[] = {
    {"memory", nullptr, -2, 0, {}, "server", "4.0.0", "", "Shows where memory goes.", kMemoryRows},
};
// clang-format on

}  // namespace

std::span<const Command> memory_commands() { return kMemoryCommands; }

}  // namespace mayfly
