// SPDX-License-Identifier: Apache-2.0
// RdbDump prints each key as a line of JSON; RdbFilter selects keys by name.
//
//   {"db": 0, "key": "a", "type": "string", "deadline_ms": 1700000000000, "value": "text"}
//   {"db": 0, "key": "h", "type": "hash", "fields": [{"field": "f", "value": "v"}, ...]}
//   {"db": 0, "key": "s", "type": "set", "members": [{"member": "m", "deadline_ms": 17...}, ...]}
//   {"db": 0, "key": "z", "type": "zset", "members": [{"member": "m", "score": 1.5}, ...]}
//   {"db": 0, "key": "l", "type": "list", "elements": ["a", ...]}
//   {"db": 0, "key": "x", "type": "stream", "entries": [
//     {"id": "1-1", "fields": [{"field": "f", "value": "v"}, ...]}, ...], "last_id": "1-1",
//     "max_deleted_id": "0-0", "entries_added": 1, "groups": [
//     {"group": "g", "last_id": "1-1", "entries_read": 1,
//      "consumers": [{"consumer": "c", "seen_ms": 17..., "active_ms": 17...}, ...],
//      "pending": [{"id": "1-1", "consumer": "c", "delivered_ms": 17..., "deliveries": 1}, ...]},
//     ...]}
//
// What is not known (entries_read, active_ms) is missing.

#pragma once

#include <cstdint>
#include <memory>
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
  Status list_begin(const RdbKey& key) override;
  Status list_elements(std::span<const std::string_view> elements) override;
  Status list_end() override;
  Status stream(const RdbKey& key, std::unique_ptr<Stream> stream) override;

 private:
  Status print(const std::string& text);

  ValueType type_ = ValueType::hash;  // of the key under way
  bool is_first_ = true;              // of its members or elements
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
  Status list_begin(const RdbKey& key) override;
  Status list_elements(std::span<const std::string_view> elements) override;
  Status list_end() override;
  Status stream(const RdbKey& key, std::unique_ptr<Stream> stream) override;

 private:
  bool matches(const RdbKey& key) const;

  const std::string pattern_;
  RdbHandler& handler_;
  bool is_selected_ = false;  // the key with members or elements under way
};

}  // namespace mayfly
