// SPDX-License-Identifier: Apache-2.0
// How much memory does a field of a hash take, a member of a set, and of a sorted set?

#include <fmt/format.h>

#include <optional>
#include <string>

#include "bench/server/measurements.h"

namespace mayfly::bench {
namespace {

constexpr std::size_t kIntegersEach = 100;  // as many as all servers keep packed

// One member after the other, as they come in practice.
void fill(const ServerChild& server, const MemberType& type, std::size_t members,
          std::size_t members_each, std::optional<Time> far) {
  RespClient client = server.connect();
  RespPipeline pipeline(client);
  for (std::size_t i = 0; i < members; ++i) {
    std::optional<Time> deadline;
    if (far) deadline = *far + Millis(i);
    add_members(pipeline, type, key_name(type, i / members_each), {i, i + 1}, deadline);
  }
  must(pipeline.finish());
}

void fill_integers(const ServerChild& server, std::size_t members) {
  RespClient client = server.connect();
  RespPipeline pipeline(client);
  for (std::size_t i = 0; i < members; ++i) {
    pipeline.add("SADD", key_name(kSetType, i / kIntegersEach), std::to_string(i));
  }
  must(pipeline.finish());
}

// What a fresh server takes for each of the members that `fill` writes to it.
template <class Fill>
void measure_case(ServerBench& bench, const std::string& name, const ServerProgram& program,
                  bool fields, Fill fill_server) {
  bench.progress.begin(fmt::format("memory: {}, {}", name, program.name));
  const auto members = static_cast<double>(bench.plan.memory_fields);
  const ServerChild server(program);
  const double before = used_memory(server);
  fill_server(server);
  const double bytes = (used_memory(server) - before) / members;
  bench.add(fields ? "memory" : "set_memory", name, server,
            {{fields ? "fields" : "members", members}},
            {{fields ? "bytes_per_field" : "bytes_per_member", bytes}});
}

void measure_type(ServerBench& bench, const MemberType& type, bool with_ttl) {
  const std::size_t members = bench.plan.memory_fields;
  const bool fields = type.has_value;
  for (const std::size_t members_each : {std::size_t{10}, std::size_t{100}, members}) {
    const std::string name = shape_title(type, members_each, members) + (with_ttl ? ", TTLs" : "");
    for (const ServerProgram& program : bench.plan.servers) {
      if (with_ttl ? !(program.*type.has_ttl) : !fields && !program.has_sets) continue;
      std::optional<Time> far;
      if (with_ttl) far = deadline_after(bench.moments.now(), kFarAway);
      measure_case(bench, name, program, fields, [&](const ServerChild& server) {
        fill(server, type, members, members_each, far);
      });
    }
  }
}

}  // namespace

void measure_memory(ServerBench& bench) {
  for (const MemberType& type : {kHashType, kSetType, kSortedSetType}) {
    for (const bool with_ttl : {false, true}) measure_type(bench, type, with_ttl);
  }
  for (const ServerProgram& program : bench.plan.servers) {
    if (!program.has_sets) continue;
    measure_case(
        bench, fmt::format("sets of {} integers", kIntegersEach), program, false,
        [&](const ServerChild& server) { fill_integers(server, bench.plan.memory_fields); });
  }
}

}  // namespace mayfly::bench
