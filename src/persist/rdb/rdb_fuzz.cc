// SPDX-License-Identifier: Apache-2.0
// Fuzzes the loading of RDB files and of payloads of DUMP and FUNCTION DUMP: whatever the bytes
// are, the keyspace stays sound, and they mean the same however they are cut.
//
// The checksum of a file is not the point: it is taken for one that is not checked.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "keyspace/keyspace_fixture.h"
#include "persist/rdb/rdb_functions.h"
#include "persist/rdb/rdb_loader.h"
#include "persist/rdb/rdb_restore.h"
#include "persist/rdb/rdb_test_file.h"

namespace {

using mayfly::Result;

struct Outcome {
  bool is_sound = false;
  std::uint64_t keys = 0;
  std::uint64_t members = 0;
  std::uint64_t bytes = 0;

  bool operator==(const Outcome&) const = default;
};

void check(mayfly::Keyspace& keyspace) {
  for (int i = 0; i < keyspace.count(); ++i) {
    if (!keyspace[i].check_invariants().empty()) std::abort();
  }
}

// A replica keeps what is due, and removes it when it is promoted.
Outcome load(mayfly::ByteSource& source, bool keeps_due) {
  mayfly::KeyspaceFixture fixture;
  mayfly::RdbLoader loader(source, fixture.keyspace,
                           {.now = fixture.context.now, .keeps_due = keeps_due});
  Result<bool> ended = false;
  while (ended && !*ended) ended = loader.step(10);
  check(fixture.keyspace);
  fixture.advance(1000);
  while (fixture.keyspace.sweep(fixture.context, 1000) > 0) {
  }
  check(fixture.keyspace);
  const mayfly::RdbReport& report = loader.report();
  if (!ended) return {};
  return {.is_sound = true, .keys = report.keys, .members = report.members, .bytes = report.bytes};
}

void restore(const std::string& bytes) {
  mayfly::KeyspaceFixture fixture;
  const std::string payload = mayfly::TestFile(bytes).payload(bytes.size() % 2 == 0 ? 80 : 12);
  const Result<mayfly::Slot> slot =
      mayfly::restore_value(fixture.context, fixture.database, "k", payload);
  if (fixture.database.stored() != (slot ? 1u : 0u)) std::abort();
  if (!fixture.database.check_invariants().empty()) std::abort();
}

// What could be read is written again, and is then the same.
void restore_functions(const std::string& bytes) {
  const auto codes = mayfly::read_functions(mayfly::TestFile(bytes).payload(10));
  if (!codes) return;
  const auto again = mayfly::read_functions(mayfly::dump_functions(*codes));
  if (!again || *again != *codes) std::abort();
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(data, data + size);
  restore(bytes);
  restore_functions(bytes);
  if (bytes.size() > 8) bytes.replace(bytes.size() - 8, 8, 8, '\0');
  mayfly::StringSource whole(bytes);
  mayfly::PieceSource pieces(bytes, 1 + size % 100);
  const bool keeps_due = size % 3 == 0;
  if (load(whole, keeps_due) != load(pieces, keeps_due)) std::abort();
  return 0;
}
