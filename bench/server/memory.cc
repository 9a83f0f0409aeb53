// SPDX-License-Identifier: Apache-2.0
// How much memory does a field of a hash take?

#include <fmt/format.h>

#include <string>

#include "bench/report/option_values.h"
#include "bench/server/measurements.h"

namespace mayfly::bench {
namespace {

void fill(const ServerChild& server, std::size_t fields, std::size_t fields_each, bool with_ttl,
          Time far) {
  RespClient client = server.connect();
  RespPipeline pipeline(client);
  for (std::size_t i = 0; i < fields; ++i) {
    const std::string key = fmt::format("hash:{:07}", i / fields_each);
    const std::string field = fmt::format("field:{:07}", i);
    const std::string value = fmt::format("value:{:07}", i);
    if (with_ttl) {
      pipeline.add("HSETEX", key, "PXAT", unix_ms(far + Millis(i)), "FIELDS", "1", field, value);
    } else {
      pipeline.add("HSET", key, field, value);
    }
  }
  must(pipeline.finish());
}

}  // namespace

void measure_memory(ServerBench& bench) {
  const std::size_t fields = bench.plan.memory_fields;
  for (const bool with_ttl : {false, true}) {
    for (const std::size_t fields_each : {std::size_t{10}, std::size_t{100}, fields}) {
      const std::string name =
          (fields_each == fields ? std::string("one hash")
                                 : fmt::format("hashes of {}", size_title(fields_each))) +
          (with_ttl ? ", TTLs" : "");
      for (const ServerProgram& program : bench.plan.servers) {
        if (with_ttl && !program.has_field_ttl) continue;
        bench.progress.begin(fmt::format("memory: {}, {}", name, program.name));
        const ServerChild server(program);
        const double before = used_memory(server);
        fill(server, fields, fields_each, with_ttl, deadline_after(bench.moments.now(), kFarAway));
        const double bytes = used_memory(server) - before;
        bench.add("memory", name, server, {{"fields", static_cast<double>(fields)}},
                  {{"bytes_per_field", bytes / static_cast<double>(fields)}});
      }
    }
  }
}

}  // namespace mayfly::bench
