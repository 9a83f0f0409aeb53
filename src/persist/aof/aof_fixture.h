// SPDX-License-Identifier: Apache-2.0
// An append-only file in a test: on a FakeDisk, in "data/aof", and what can be loaded from it.

#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/keyspace_fixture.h"
#include "persist/aof/aof.h"
#include "persist/aof/aof_loader.h"
#include "persist/disk/fake_disk.h"
#include "resp/encode.h"

namespace mayfly {

inline std::string command(std::initializer_list<std::string_view> words) {
  std::string bytes;
  append_request(bytes, words);
  return bytes;
}

// Writes down what it is to apply: "0: SET k v". Knows SET and DEL.
class Scribe final : public AofApply {
 public:
  Status apply(int database, Words words) override {
    std::string line = std::to_string(database) + ":";
    for (const std::string_view word : words) line.append(" ").append(word);
    lines.push_back(line);
    if (words.front() == "SET" || words.front() == "DEL") return Done{};
    return Error{Code::invalid, "unknown command"};
  }

  std::vector<std::string> lines;
};

struct Loaded {
  std::vector<std::string> lines;  // what was applied
  std::string error;               // empty if all was loaded
  AofLoadReport report;
  std::uint64_t offset = 0;
  std::uint64_t total_bytes = 0;
};

inline Loaded load_aof(Disk& disk, const AofOptions& options, const AofLoadOptions& how = {},
                       std::size_t slice = 3) {
  KeyspaceFixture fixture;
  Scribe scribe;
  AofLoader loader(disk, options, fixture.keyspace, scribe, how);
  Loaded loaded;
  for (;;) {
    const Result<bool> done = loader.step(slice);
    if (!done) loaded.error = done.error().message;
    if (!done || *done) break;
  }
  loaded.lines = scribe.lines;
  loaded.report = loader.report();
  loaded.offset = loader.offset();
  loaded.total_bytes = loader.total_bytes();
  return loaded;
}

struct AofFixture {
  AofFixture() { disk.put("data/dump.rdb", ""); }  // so that there is a directory

  Loaded load(const AofLoadOptions& how = {}) { return load_aof(disk, options, how); }
  std::vector<std::string> lines() { return load().lines; }
  std::string path(std::string_view name) const { return aof_path(options, name); }

  FakeDisk disk;
  AofOptions options = {.directory = "data/aof", .sync = AofSync::always, .rdb_preamble = false};
};

}  // namespace mayfly
