// SPDX-License-Identifier: Apache-2.0
// RdbCheck: checks a file as a load would. It builds each key with members and drops it again, to
// find duplicate members; it does not store keys.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "persist/rdb/rdb_parser.h"

namespace mayfly {

class RdbCheck final : public RdbHandler {
 public:
  RdbCheck();
  ~RdbCheck() override;

  std::uint64_t keys() const { return keys_; }

  Status string(const RdbKey& key, std::string_view value) override;
  Status members_begin(const RdbKey& key, std::uint64_t count) override;
  Status members(std::span<const Member> members) override;
  Status members_end() override;
  Status list_begin(const RdbKey& key) override;
  Status list_elements(std::span<const std::string_view> elements) override;
  Status list_end() override;
  Status stream(const RdbKey& key, std::unique_ptr<Stream> stream) override;

 private:
  struct Scratch;  // a keyspace

  std::unique_ptr<Scratch> scratch_;
  std::uint64_t keys_ = 0;
};

}  // namespace mayfly
