// SPDX-License-Identifier: Apache-2.0
// What the measurements of the suite `server` have in common. Declared in measurements.h.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "bench/report/statistics.h"
#include "bench/server/measurements.h"
#include "mayfly/internal/stopwatch.h"

namespace mayfly::bench {
namespace {

constexpr std::size_t kWritten = 100;                        // fields of one HSET
constexpr std::int64_t kCallPatienceNs = 1'800'000'000'000;  // 30 min, for 100 M fields
constexpr Millis kLook(20);

}  // namespace

void fill_hashes(const ServerChild& server, std::size_t fields, std::size_t fields_each, Time far) {
  RespClient client = server.connect();
  // One deadline is all that an HSETEX can set, so it has one field then.
  const bool has_ttl = server.program().has_field_ttl;
  const std::size_t at_once = has_ttl ? 1 : kWritten;
  RespPipeline pipeline(client, has_ttl ? 256 : 16);
  std::size_t i = 0;
  while (i < fields) {
    const std::size_t key = i / fields_each;
    const std::size_t end = std::min({i + at_once, (key + 1) * fields_each, fields});
    add_members(pipeline, kHashType, key_name(kHashType, key), {i, end},
                has_ttl ? std::optional(far + Millis(i)) : std::nullopt);
    i = end;
  }
  must(pipeline.finish());
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (!word.empty()) words.emplace_back(word);
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return words;
}

ReplyValue call_slowly(RespClient& client, Words words) {
  client.add(words);
  must(client.send());
  const std::int64_t start = monotonic_ns();
  while (monotonic_ns() - start < kCallPatienceNs) {
    std::optional<ReplyValue> reply = must(client.read_within(Millis(10'000)));
    if (!reply) continue;
    if (reply->kind != ReplyValue::Kind::error) return std::move(*reply);
    throw Failure(fmt::format("{} failed: {}", words[0], reply->text));
  }
  throw Failure(fmt::format("{} has not ended in half an hour", words[0]));
}

void set_config(RespClient& client, std::string_view name, std::string_view value) {
  must(client.call("CONFIG", "SET", name, value));
}

double info_of(RespClient& client, std::string_view section, std::string_view name) {
  return must(info_number(must(client.call("INFO", section)).text, name));
}

bool has_child(RespClient& client) {
  const ReplyValue info = must(client.call("INFO", "persistence"));
  for (const std::string_view name :
       {"rdb_bgsave_in_progress", "aof_rewrite_in_progress", "aof_rewrite_scheduled"}) {
    if (must(info_number(info.text, name)) != 0) return true;
  }
  return false;
}

void set_aof(const ServerChild& server, bool on) {
  RespClient client = server.connect();
  set_config(client, "auto-aof-rewrite-percentage", "0");
  set_config(client, "appendfsync", "everysec");
  set_config(client, "appendonly", on ? "yes" : "no");
  const std::int64_t start = monotonic_ns();
  while (has_child(client)) {
    if (monotonic_ns() - start > kCallPatienceNs) {
      throw Failure("a file has not been written in half an hour");
    }
    rest(kLook);
  }
}

double used_memory(const ServerChild& server) {
  constexpr int kSame = 3;
  constexpr int kMost = 100;
  RespClient client = server.connect();
  double last = -1;
  int same = 0;
  for (int i = 0; i < kMost && same < kSame; ++i) {
    rest(Millis(50));
    const double used = info_of(client, "memory", "used_memory");
    same = used == last ? same + 1 : 0;
    last = used;
  }
  return last;
}

Metrics latency_metrics(const std::vector<std::int64_t>& times_ns) {
  Metrics metrics = {{"count", static_cast<double>(times_ns.size())}};
  if (times_ns.empty()) return metrics;
  const auto at = [&](double percent) {
    return static_cast<double>(percentile(times_ns, percent)) / 1e3;
  };
  metrics.emplace_back("p50_us", at(50));
  metrics.emplace_back("p99_us", at(99));
  metrics.emplace_back("p999_us", at(99.9));
  metrics.emplace_back("max_us", at(100));
  return metrics;
}

}  // namespace mayfly::bench
