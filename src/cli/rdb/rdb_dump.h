// SPDX-License-Identifier: Apache-2.0
// RdbDump prints each key as a line of JSON; RdbFilter selects keys by name.
//
//   {"db": 0, "key": "a", "type": "string", "deadline_ms": 1700000000000, "value": "text"}
//   {"db": 0, "key": "h", "type": "hash", "fields": [{"field": "f", "value": "v"}, ...]}
//   {"db": 0, "key": "s", "type": "set", "members": [{"member": "m", "deadline_ms": 17...}, ...]}
//   {"db": 0, "key": "z", "type": "zset", "members": [{"member": "m", "score": 1.5}, ...]}
//   {"db": 0, "key": "l", "type": "list", "elements": 3}

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "persist/rdb/rdb_parser.h"

namespace mayfly {

class RdbDump final : public RdbHandler {
 public:
  Status string(const RdbKey& key, std::string_view value) override;
  Status members_begin(const RdbKey& key, std::uint64_t count) override;
  Status members(std::span<const Member> members) override;
  Status members_end() override;
  Status skipped(const RdbKey& key, std::string_view type, std::uint64_t elements,
                 std::uint64_t bytes) override;

 private:
  Status print(const std::string& text);

  ValueType type_ = ValueType::hash;  // of the key under way
  bool is_first_ = true;              // of its members
};

// Passes on keys that match a pattern.
class RdbFilter final : public RdbHandler {
 public:
  // The handler must outlive it.
  RdbFilter(std::string pattern, RdbHandler& handler)
      : pattern_(std::move(pattern)), handler_(handler) {}

  void aux(std::string_view name, std::string_view value) override { handler_.aux(name, value); }
  Status function(std::string_view code) override { return handler_.function(code); }
  Status string(const RdbKey& key, std::string_view value) override;
  Status members_begin(const RdbKey& key, std::uint64_t count) override;
  Status members(std::span<const Member> members) override;
  Status members_end() override;
  Status skipped(const RdbKey& key, std::string_view type, std::uint64_t elements,
                 std::uint64_t bytes) override;

 private:
  bool matches(const RdbKey& key) const;

  const std::string pattern_;
  RdbHandler& handler_;
  bool is_selected_ = false;  // the key with members under way
};

}  // namespace mayfly
