// SPDX-License-Identifier: Apache-2.0
// PFDEBUG and PFSELFTEST: what tests from outside ask about HyperLogLogs.

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "commands/hyperloglog/hll_key.h"
#include "commands/hyperloglog/hll_sparse.h"

namespace mayfly {
namespace {

// PFDEBUG SIMD ON|OFF. There is no other code to switch to: registers are merged eight at a time in
// plain words.
void pfdebug_simd(Call& call) {
  if (!call.is(2, "on") && !call.is(2, "off")) return call.fail("ERR Argument must be ON or OFF");
  call.reply().simple("disabled");
}

// Whether the value is dense now; if not, there is an error reply. Counts the conversion.
bool convert_to_dense(Call& call, KeyHll& hll) {
  if (is_dense_hll(hll.bytes())) return true;
  if (!make_dense(hll)) {
    fail_damaged_hll(call);
    return false;
  }
  call.changed(call.word(2));
  return true;
}

// PFDEBUG GETREG key: all registers. The value is dense afterwards.
void pfdebug_getreg(Call& call, KeyHll& hll) {
  if (!convert_to_dense(call, hll)) return;
  HllRegisters registers;
  merge_hll(registers, hll.bytes());
  call.reply().array(kHllRegisters);
  for (std::size_t i = 0; i < kHllRegisters; ++i) call.reply().integer(registers[i]);
}

// PFDEBUG DECODE key: the runs of a sparse value, valid or not.
void pfdebug_decode(Call& call, const KeyHll& hll) {
  if (is_dense_hll(hll.bytes())) return call.fail("ERR HLL encoding is not sparse");
  const std::string_view runs = hll.bytes().substr(kHllHeaderBytes);
  std::string text;
  for (std::size_t at = 0; at < runs.size();) {
    const SparseRun run = sparse_run(runs, at);
    if (!text.empty()) text += ' ';
    if (run.rank > 0) {
      text += fmt::format("v:{},{}", run.rank, run.registers);
    } else {
      text += fmt::format("{}:{}", run.is_wide ? 'Z' : 'z', run.registers);
    }
    at += run.bytes;
  }
  call.reply().bulk(text);
}

// PFDEBUG TODENSE key: 1 if it was sparse.
void pfdebug_todense(Call& call, KeyHll& hll) {
  const bool was_sparse = !is_dense_hll(hll.bytes());
  if (convert_to_dense(call, hll)) call.reply().integer(was_sparse);
}

// ---- PFSELFTEST ----

// Random registers survive packing. Empty, or what is wrong.
std::string test_packing(Random& random) {
  std::string packed(kHllPackedBytes, '\0');
  for (int cycle = 0; cycle < 100; ++cycle) {
    HllRegisters written;
    for (std::size_t i = 0; i < kHllRegisters; ++i) {
      written.raise(i, 1, static_cast<unsigned>(random.below(64)));
    }
    written.pack(packed.data());
    HllRegisters read;
    read.merge_dense(packed.data());
    for (std::size_t i = 0; i < kHllRegisters; ++i) {
      if (read[i] == written[i]) continue;
      return fmt::format("Register {} should be {} but is {}", i, written[i], read[i]);
    }
  }
  return {};
}

// Whether the estimate of `count` elements is within six standard errors.
bool is_near(std::uint64_t estimate, std::int64_t count) {
  const double error = 6 * 1.04 / std::sqrt(static_cast<double>(kHllRegisters));
  const auto allowed = static_cast<std::int64_t>(std::ceil(error * static_cast<double>(count)));
  return std::abs(count - static_cast<std::int64_t>(estimate)) <= allowed;
}

// Adds distinct elements to a sparse and a dense value. At powers of ten both have the same
// estimate, which is not far off.
std::string test_estimates(Random& random, std::size_t sparse_bytes_max) {
  constexpr std::uint64_t kElements = 1'000'000;
  OwnHllString dense(empty_hll());
  OwnHllString sparse(empty_hll());
  make_dense(dense);
  const std::uint64_t seed = random.next();
  std::uint64_t check_at = 1;
  for (std::uint64_t i = 1; i <= kElements; ++i) {
    const std::uint64_t number = i ^ seed;
    const HllElement element = hll_element({reinterpret_cast<const char*>(&number), sizeof number});
    raise_hll(dense, element, sparse_bytes_max);
    raise_hll(sparse, element, sparse_bytes_max);
    if (i != check_at) continue;
    check_at *= 10;
    // An element takes at most three bytes.
    const bool must_be_sparse = empty_hll().size() + 3 * i <= sparse_bytes_max;
    if (must_be_sparse && is_dense_hll(sparse.bytes())) return "sparse encoding not used";
    const std::optional<std::uint64_t> estimate = estimate_hll(dense.bytes());
    if (estimate != estimate_hll(sparse.bytes())) return "dense/sparse disagree";
    if (!is_near(*estimate, static_cast<std::int64_t>(i))) {
      return fmt::format("Too big error. card:{} estimate:{}", i, *estimate);
    }
  }
  return {};
}

}  // namespace

void pfdebug(Call& call) {
  if (call.is(1, "simd")) return pfdebug_simd(call);
  const Slot slot = call.find_to_write(call.word(2));
  if (slot == kNoSlot) return call.fail("ERR The specified key does not exist");
  if (!check_is_hll(call, slot)) return;

  KeyHll hll(call.database(), slot);
  if (call.is(1, "getreg")) return pfdebug_getreg(call, hll);
  if (call.is(1, "decode")) return pfdebug_decode(call, hll);
  if (call.is(1, "todense")) return pfdebug_todense(call, hll);
  if (call.is(1, "encoding")) {
    return call.reply().simple(is_dense_hll(hll.bytes()) ? "dense" : "sparse");
  }
  call.fail(fmt::format("ERR Unknown PFDEBUG subcommand '{}'", call.word(1)));
}

void pfselftest(Call& call) {
  Random& random = call.keyspace().random();
  std::string wrong = test_packing(random);
  if (wrong.empty()) {
    wrong = test_estimates(random, call.keyspace().options().hll_sparse_max_bytes);
  }
  if (!wrong.empty()) return call.fail("ERR TESTFAILED " + wrong);
  call.reply().ok();
}

}  // namespace mayfly
