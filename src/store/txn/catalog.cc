// SPDX-License-Identifier: Apache-2.0
#include "store/txn/catalog.h"

#include <xxhash.h>

#include <algorithm>
#include <concepts>
#include <cstring>

#include "mayfly/store_options.h"

namespace mayfly::internal {
namespace {

constexpr std::string_view kMagic = "MAYFLY";
constexpr std::size_t kGenerationAt = 8;  // after the magic and the version

// All numbers are big-endian.
template <std::unsigned_integral Number>
void append(std::string& out, Number number) {
  for (std::size_t i = sizeof number; i-- > 0;) {
    out.push_back(static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i)));
  }
}

// Reads from the front. After the bytes have run out, all is zero and ok() is false.
class Input {
 public:
  explicit Input(std::string_view bytes) : bytes_(bytes) {}

  template <std::unsigned_integral Number>
  Number number() {
    const std::string_view bytes = take(sizeof(Number));
    std::uint64_t result = 0;
    for (const char byte : bytes) result = result << 8 | static_cast<unsigned char>(byte);
    return static_cast<Number>(result);
  }

  std::string_view take(std::size_t size) {
    if (size > bytes_.size()) {
      ok_ = false;
      bytes_ = {};
      return {};
    }
    const std::string_view result = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return result;
  }

  bool ok() const { return ok_; }
  std::size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

Error damaged(std::string_view what) {
  std::string message = "the catalog of the store is damaged: ";
  message += what;
  return {Code::corrupt, message};
}

std::uint64_t checksum(std::string_view bytes) { return XXH64(bytes.data(), bytes.size(), 0); }

FamilyRecord decode_family(Input& in) {
  FamilyRecord record;
  record.id = in.number<std::uint32_t>();
  record.data = in.number<std::uint32_t>();
  record.keys = in.number<std::uint32_t>();
  record.deadlines = in.number<std::uint32_t>();
  record.default_ttl = Millis(static_cast<std::int64_t>(in.number<std::uint64_t>()));
  record.name = in.take(in.number<std::uint16_t>());
  return record;
}

}  // namespace

Catalog Catalog::fresh(std::uint64_t hash_seed) {
  Catalog catalog;
  catalog.hash_seed_ = hash_seed;
  catalog.create(kDefaultFamilyName);
  catalog.generation_ = 1;
  return catalog;
}

std::string Catalog::encode() const {
  std::string out(kMagic);
  append(out, kVersion);
  append(out, generation_);
  append(out, hash_seed_);
  append(out, next_id_);
  append(out, next_table_);
  append(out, static_cast<std::uint32_t>(slots_.size()));
  for (const FamilyRecord& record : slots_) {
    append(out, record.id);
    append(out, record.data);
    append(out, record.keys);
    append(out, record.deadlines);
    append(out, static_cast<std::uint64_t>(record.default_ttl.count()));
    append(out, static_cast<std::uint16_t>(record.name.size()));
    out += record.name;
  }
  append(out, static_cast<std::uint32_t>(free_tables_.size()));
  for (const std::uint32_t table : free_tables_) append(out, table);
  append(out, checksum(out));
  return out;
}

std::uint64_t Catalog::generation_in(std::string_view bytes) {
  if (bytes.size() < kGenerationAt + sizeof(std::uint64_t)) return 0;
  return Input(bytes.substr(kGenerationAt)).number<std::uint64_t>();
}

Result<Catalog> Catalog::decode(std::string_view bytes) {
  Input in(bytes);
  if (in.take(kMagic.size()) != kMagic) return damaged("it does not begin as one");
  const auto version = in.number<std::uint16_t>();
  if (in.ok() && version > kVersion) {
    return Error{Code::unsupported, "the store has format " + std::to_string(version) +
                                        "; this Mayfly knows formats up to " +
                                        std::to_string(kVersion) + ": use a newer one"};
  }
  if (bytes.size() < sizeof(std::uint64_t)) return damaged("it is cut off");
  const std::string_view body = bytes.substr(0, bytes.size() - sizeof(std::uint64_t));
  if (Input(bytes.substr(body.size())).number<std::uint64_t>() != checksum(body)) {
    return damaged("its checksum is wrong");
  }
  Catalog catalog;
  catalog.generation_ = in.number<std::uint64_t>();
  catalog.hash_seed_ = in.number<std::uint64_t>();
  catalog.next_id_ = in.number<std::uint32_t>();
  catalog.next_table_ = in.number<std::uint32_t>();
  const auto slots = in.number<std::uint32_t>();
  if (slots == 0 || slots > kFamiliesMax) return damaged("the number of families is wrong");
  catalog.slots_.reserve(slots);
  for (std::uint32_t i = 0; i < slots; ++i) catalog.slots_.push_back(decode_family(in));
  const auto free_tables = in.number<std::uint32_t>();
  if (free_tables > in.left() / sizeof(std::uint32_t)) return damaged("it is cut off");
  catalog.free_tables_.reserve(free_tables);
  for (std::uint32_t i = 0; i < free_tables; ++i) {
    catalog.free_tables_.push_back(in.number<std::uint32_t>());
  }
  if (!in.ok() || in.left() != sizeof(std::uint64_t)) return damaged("its length is wrong");
  if (catalog.next_table_ == 0 || catalog.next_table_ > 3 * kFamiliesMax + 1) {
    return damaged("the number of tables is wrong");
  }
  for (const FamilyRecord& record : catalog.slots_) {
    const auto most = std::max({record.data, record.keys, record.deadlines});
    if (most >= catalog.next_table_) return damaged("a family names a table that is not there");
  }
  if (catalog.find(Family()) == nullptr) return damaged("the default family is missing");
  return catalog;
}

std::optional<Family> Catalog::find(std::string_view name) const {
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot].id != 0 && slots_[slot].name == name) return Family(slot, slots_[slot].id);
  }
  return std::nullopt;
}

std::vector<Family> Catalog::families() const {
  std::vector<Family> result;
  result.reserve(slots_.size());
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot].id != 0) result.push_back(Family(slot, slots_[slot].id));
  }
  return result;
}

std::uint32_t Catalog::take_table() {
  if (free_tables_.empty()) return next_table_++;
  const std::uint32_t table = free_tables_.back();
  free_tables_.pop_back();
  return table;
}

Family Catalog::create(std::string_view name, std::uint32_t least_id) {
  next_id_ = std::max(next_id_, least_id);
  const auto free = std::ranges::find(slots_, 0u, &FamilyRecord::id);
  const auto slot = static_cast<std::uint32_t>(free - slots_.begin());
  if (free == slots_.end()) slots_.emplace_back();
  FamilyRecord& record = slots_[slot];
  record = {};
  record.id = next_id_++;
  record.name = name;
  record.data = take_table();
  ++generation_;
  return Family(slot, record.id);
}

void Catalog::drop(Family family) {
  FamilyRecord& record = slots_[family.slot_];
  for (const std::uint32_t table : {record.data, record.keys, record.deadlines}) {
    if (table != 0) free_tables_.push_back(table);
  }
  record = {};
  ++generation_;
}

void Catalog::add_ttl_tables(Family family) {
  FamilyRecord& record = slots_[family.slot_];
  record.keys = take_table();
  record.deadlines = take_table();
  ++generation_;
}

void Catalog::set_default_ttl(Family family, Millis ttl) {
  slots_[family.slot_].default_ttl = ttl;
  ++generation_;
}

Status check_family_name(std::string_view name) {
  if (name.empty()) return Error{Code::invalid, "a family's name must have at least one byte"};
  if (name.size() > kFamilyNameMax) {
    return Error{Code::invalid, "a family's name has " + std::to_string(name.size()) + " bytes; " +
                                    std::to_string(kFamilyNameMax) + " are allowed"};
  }
  return Done{};
}

std::string table_name(std::uint32_t number) {
  std::string name = "t";
  name += std::to_string(number);
  return name;
}

}  // namespace mayfly::internal
