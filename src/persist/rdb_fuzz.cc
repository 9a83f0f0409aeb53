// SPDX-License-Identifier: Apache-2.0
// Fuzzes the loading of RDB files and of DUMP payloads: whatever the bytes are, the keyspace stays
// sound, and they mean the same however they are cut. Not part of the build; from the root of the
// repository:
//
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -Isrc
//       src/persist/{rdb_fuzz,rdb_loader,rdb_parser,rdb_hashes,rdb_skip,rdb_reader,rdb_restore}.cc
//       src/persist/{listpack,ziplist,zipmap,text_arena,crc64}.cc src/resp/numbers.cc
//       src/keyspace/{database,database_sweep,eviction,graveyard,hash_load,hash_ref}.cc
//       src/keyspace/{key_node,keyspace,packed_hash,table,table_hash}.cc
//       src/expiry/volatile_{bucket,set,tree,walk}.cc -lfmt -llzf -o /tmp/rdb_fuzz
//   mkdir /tmp/rdb_corpus && cp tests/data/golden/*.rdb tests/data/golden/*/*.rdb /tmp/rdb_corpus
//   /tmp/rdb_fuzz -max_len=70000 -rss_limit_mb=1024 -max_total_time=120 /tmp/rdb_corpus
//
// The checksum of a file is not the point: it is taken for one that is not checked.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "keyspace/keyspace_fixture.h"
#include "persist/rdb_loader.h"
#include "persist/rdb_restore.h"
#include "persist/rdb_test_file.h"

namespace {

using mayfly::Result;

struct Outcome {
  bool is_sound = false;
  std::uint64_t keys = 0;
  std::uint64_t fields = 0;
  std::uint64_t bytes = 0;

  bool operator==(const Outcome&) const = default;
};

Outcome load(mayfly::ByteSource& source) {
  mayfly::KeyspaceFixture fixture;
  mayfly::RdbLoader loader(source, fixture.keyspace, {.now = fixture.keyspace.now()});
  Result<bool> ended = false;
  while (ended && !*ended) ended = loader.step(10);
  for (int i = 0; i < fixture.keyspace.count(); ++i) {
    if (!fixture.keyspace[i].check_invariants().empty()) std::abort();
  }
  const mayfly::RdbReport& report = loader.report();
  if (!ended) return {};
  return {.is_sound = true, .keys = report.keys, .fields = report.fields, .bytes = report.bytes};
}

void restore(const std::string& bytes) {
  mayfly::KeyspaceFixture fixture;
  const std::string payload = mayfly::TestFile(bytes).payload(bytes.size() % 2 == 0 ? 80 : 12);
  const Result<mayfly::Slot> slot = mayfly::restore_value(fixture.database, "k", payload);
  if (fixture.database.stored() != (slot ? 1u : 0u)) std::abort();
  if (!fixture.database.check_invariants().empty()) std::abort();
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(data, data + size);
  restore(bytes);
  if (bytes.size() > 8) bytes.replace(bytes.size() - 8, 8, 8, '\0');
  mayfly::StringSource whole(bytes);
  mayfly::PieceSource pieces(bytes, 1 + size % 100);
  if (load(whole) != load(pieces)) std::abort();
  return 0;
}
