// SPDX-License-Identifier: Apache-2.0
// A HyperLogLog as a string value, with exactly the bytes of Redis.
//
//   | "HYLL" | form 1 | not used 3 | cached estimate 8, little-endian | registers ... |
//
//   form 0   dense: 12288 bytes, six bits for each register (hll_registers.h)
//   form 1   sparse: runs (hll_sparse.h)
//
// The highest bit of the cached estimate is set if it is out of date. A value begins sparse. It
// becomes dense when it would grow beyond hll-sparse-max-bytes, or when a rank is too high for a
// run, and stays so.
//
// is_hll() looks at the header alone. The runs behind it may still be damaged: functions that find
// this out say so.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "commands/hyperloglog/hll_registers.h"

namespace mayfly {

inline constexpr std::size_t kHllHeaderBytes = 16;
inline constexpr std::size_t kHllDenseBytes = kHllHeaderBytes + kHllPackedBytes;

// The string that holds a value: that of a key, or one of its own.
class HllString {
 public:
  virtual ~HllString() = default;
  virtual std::string_view bytes() const = 0;

  // For writing. Bytes that were there stay; new ones are not set. What bytes() gave is invalid.
  virtual char* resize(std::size_t size) = 0;

  // Replaces all of it. `bytes` is not part of it.
  virtual void assign(std::string_view bytes) = 0;
};

class OwnHllString : public HllString {
 public:
  explicit OwnHllString(std::string bytes) : bytes_(std::move(bytes)) {}
  std::string_view bytes() const override { return bytes_; }
  char* resize(std::size_t size) override {
    bytes_.resize(size);
    return bytes_.data();
  }
  void assign(std::string_view bytes) override { bytes_ = bytes; }

 private:
  std::string bytes_;
};

// ---- Reading ----

// Whether a string has the header of a HyperLogLog, and the length of a dense one if it is dense.
bool is_hll(std::string_view bytes);

// The functions below require this.
bool is_dense_hll(std::string_view bytes);

// The cached estimate, if it is up to date.
std::optional<std::uint64_t> cached_estimate(std::string_view bytes);

// From the registers; nothing if they are damaged.
std::optional<std::uint64_t> estimate_hll(std::string_view bytes);

// Each register has at least the rank that it has in the value. False if that is damaged; some
// registers may be changed then.
bool merge_hll(HllRegisters& registers, std::string_view bytes);

// Empty if the value is valid, else what is wrong with it. For tests.
std::string check_hll(std::string_view bytes);

// ---- Writing ----

// A value without elements: sparse, with an estimate of 0.
std::string empty_hll();

void cache_estimate(HllString& hll, std::uint64_t estimate);
void invalidate_estimate(HllString& hll);

enum class HllChange { none, raised, damaged };

// An element, as a register and a rank. Both come from its hash, MurmurHash64A.
struct HllElement {
  std::size_t index;
  unsigned rank;
};
HllElement hll_element(std::string_view element);

// The register has at least this rank now. A sparse value is at most `sparse_bytes_max` long, the
// header included. If a register was raised, the cached estimate is out of date.
HllChange raise_hll(HllString& hll, HllElement element, std::size_t sparse_bytes_max);

// False if it is damaged; it is not changed then.
bool make_dense(HllString& hll);

// Replaces the registers of a dense value.
void store_registers(HllString& hll, const HllRegisters& registers);

}  // namespace mayfly
