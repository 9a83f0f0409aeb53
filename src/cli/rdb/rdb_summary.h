// SPDX-License-Identifier: Apache-2.0
// RdbSummary: what `mayfly rdb` prints about a file.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/time.h"
#include "persist/rdb/rdb_parser.h"
#include "tools/terminal/text_table.h"

namespace mayfly {

// Ranges of the remaining TTL.
inline constexpr std::array<std::string_view, 7> kTtlRanges = {
    "due", "< 1 min", "< 1 hour", "< 1 day", "< 7 days", "< 30 days", "more"};
std::size_t ttl_range(Time deadline, Time now);

struct RdbSummary {
  struct ByType {
    std::uint64_t keys = 0;
    std::uint64_t elements = 0;  // fields, members, elements, entries; a string has none
    std::uint64_t bytes = 0;     // in the file
  };
  struct LargeKey {
    int database = 0;
    std::string name;
    std::string type;
    std::uint64_t elements = 0;
    std::uint64_t bytes = 0;
  };
  using Histogram = std::array<std::uint64_t, kTtlRanges.size()>;

  int version = 0;
  std::uint64_t bytes = 0;
  std::uint64_t functions = 0;
  std::map<std::string, std::string> aux;
  std::map<int, std::uint64_t> databases;  // number -> keys
  std::map<std::string, ByType> types;
  Histogram keys_by_ttl{};
  Histogram members_by_ttl{};
  std::vector<LargeKey> largest;  // the largest first
};

std::uint64_t sum(const RdbSummary::Histogram& histogram);
std::string writer_of(const RdbSummary& summary);  // "Redis 7.0.15"; "" if unknown

// Counts the keys of a file.
class RdbCounter final : public RdbHandler {
 public:
  explicit RdbCounter(Time now) : now_(now) {}

  // The parser, for its offsets. It must outlive the parsing.
  void watch(const RdbParser& parser) { parser_ = &parser; }

  // REQUIRES: the whole file was parsed.
  RdbSummary summary() const;

  void aux(std::string_view name, std::string_view value) override;
  Status function(std::string_view code) override;
  Status string(const RdbKey& key, std::string_view value) override;
  Status members_begin(const RdbKey& key, std::uint64_t count) override;
  Status members(std::span<const Member> members) override;
  Status members_end() override;
  Status list_begin(const RdbKey& key) override;
  Status list_elements(std::span<const std::string_view> elements) override;
  Status list_end() override;
  Status stream(const RdbKey& key, std::unique_ptr<Stream> stream) override;

 private:
  void count(const RdbKey& key, std::string_view type, std::uint64_t elements);

  const Time now_;
  const RdbParser* parser_ = nullptr;
  RdbSummary summary_;
  RdbKey key_;  // with members or elements, being parsed
  std::uint64_t members_ = 0;
};

std::string render_rdb_summary(const std::string& path, const RdbSummary& summary,
                               const Colours& colours);
std::string rdb_summary_to_json(const std::string& path, const RdbSummary& summary);

}  // namespace mayfly
