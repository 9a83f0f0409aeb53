// SPDX-License-Identifier: Apache-2.0
// Reading packed members, and checking bytes that may be damaged.

#include "keyspace/members/packed_view.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <type_traits>

namespace mayfly {
namespace {

// What a deadline of four bytes can express: the latest, and that there is none.
constexpr std::uint64_t kFarthest = 0xFFFFFFFE;  // 49.7 days
constexpr std::uint32_t kNone32 = 0xFFFFFFFF;
static_assert(kNone32 == kFarthest + 1);

constexpr std::size_t kVarintMax = 5;
constexpr std::uint64_t kSizeMax = 0xFFFFFFFF;  // of a name or a payload

template <class T>
T load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

std::int64_t millis(Time time) { return time.time_since_epoch().count(); }

// As a distance that cannot overflow. REQUIRES: from <= to.
std::uint64_t distance(Time from, Time to) {
  return static_cast<std::uint64_t>(millis(to)) - static_cast<std::uint64_t>(millis(from));
}

// Names in one key often begin alike: the last byte rules out most of them.
bool is_same(const char* text, std::string_view name) {
  if (name.empty()) return true;
  return text[name.size() - 1] == name.back() && std::memcmp(text, name.data(), name.size()) == 0;
}

// A size as write_varint() writes it, or nothing.
std::optional<std::size_t> checked_varint(std::string_view blob, std::size_t& at) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < kVarintMax && at < blob.size(); ++i) {
    const auto byte = static_cast<unsigned char>(blob[at++]);
    value |= std::size_t{byte & 0x7Fu} << (7 * i);
    if (byte >= 0x80) continue;
    const bool is_shortest = byte != 0 || i == 0;
    return is_shortest && value <= kSizeMax ? std::optional(value) : std::nullopt;
  }
  return std::nullopt;
}

std::string check_header(std::string_view blob) {
  if (blob.size() < kPackedEmptySize) return "no header";
  const unsigned width = static_cast<unsigned char>(blob[2]) >> 2;
  const unsigned payload = static_cast<unsigned char>(blob[2]) & 3;
  if (width != 0 && width != 4 && width != 8) return "an invalid width";
  if (payload > static_cast<unsigned char>(Payload::score)) return "an invalid payload";
  if (static_cast<unsigned char>(blob[3]) >= 0x80) return "an invalid size of names";
  if (width != 0 && blob.size() < kPackedEmptySize + sizeof(Time)) return "no base";
  return "";
}

}  // namespace

Time PackedForm::read_deadline(const char* from) const {
  if (width == 0) return kNever;
  if (width == 8) return Time(Millis(load<std::int64_t>(from)));
  const auto after = load<std::uint32_t>(from);
  return after == kNone32 ? kNever : base + Millis(after);
}

void PackedForm::write_deadline(char* to, Time deadline) const {
  if (width == 0) return;
  if (width == 8) {
    const std::int64_t absolute = millis(deadline);
    std::memcpy(to, &absolute, sizeof absolute);
    return;
  }
  const std::uint32_t after =
      deadline == kNever ? kNone32 : static_cast<std::uint32_t>(distance(base, deadline));
  std::memcpy(to, &after, sizeof after);
}

bool PackedForm::allows_change(Time from, Time to) const {
  if (from == to) return true;
  if (width != 4 || from == base) return false;
  return to == kNever || (to >= base && distance(base, to) <= kFarthest);
}

void PackedFormFinder::add(Time deadline) {
  if (deadline == kNever) return;
  least_ = std::min(least_, deadline);
  greatest_ = std::max(greatest_, deadline);
}

PackedForm PackedFormFinder::form(std::size_t name_size) const {
  if (least_ == kNever) return {.name_size = name_size};
  const bool is_narrow = distance(least_, greatest_) <= kFarthest;
  return {.width = is_narrow ? 4u : 8u, .base = least_, .name_size = name_size};
}

PackedForm PackedView::form() const {
  if (width() == 0) return {.name_size = name_size()};
  const auto base = load<std::int64_t>(blob_.data() + kPackedEmptySize);
  return {.width = width(), .base = Time(Millis(base)), .name_size = name_size()};
}

PackedView::Entry PackedView::entry_at(std::size_t offset) const {
  const PackedForm form = this->form();
  const char* at = blob_.data() + offset;
  const std::size_t name_size = form.read_name_size(at);
  const std::size_t value_size = read_size(at, payload());
  Entry entry;
  entry.offset = offset;
  entry.deadline_offset = static_cast<std::size_t>(at - blob_.data());
  entry.content.deadline = form.read_deadline(at);
  at += width();
  entry.content.name = {at, name_size};
  entry.content.value = {at + name_size, value_size};
  entry.end = static_cast<std::size_t>(at - blob_.data()) + name_size + value_size;
  return entry;
}

// The loop is compiled for each kind of payload, so that it does not ask at every entry.
std::optional<PackedView::Entry> PackedView::find_entry(std::string_view name) const {
  const auto find = [&](auto payload_constant) -> std::optional<Entry> {
    constexpr Payload kPayload = decltype(payload_constant)::value;
    const std::size_t deadline_size = width();
    const std::size_t common_size = name_size();
    if (common_size != 0 && common_size != name.size()) return std::nullopt;
    const char* at = blob_.data() + kPackedEmptySize + (deadline_size == 0 ? 0 : sizeof(Time));
    for (std::size_t i = count(); i > 0; --i) {
      const char* const begin = at;
      const std::size_t entry_name_size = common_size != 0 ? common_size : read_varint(at);
      const std::size_t value_size = read_size(at, kPayload);
      at += deadline_size;
      if (entry_name_size == name.size() && is_same(at, name)) {
        return entry_at(static_cast<std::size_t>(begin - blob_.data()));
      }
      at += entry_name_size + value_size;
    }
    return std::nullopt;
  };
  switch (payload()) {
    case Payload::none:
      return find(std::integral_constant<Payload, Payload::none>());
    case Payload::score:
      return find(std::integral_constant<Payload, Payload::score>());
    case Payload::value:
      break;
  }
  return find(std::integral_constant<Payload, Payload::value>());
}

std::optional<Member> PackedView::find(std::string_view name) const {
  const std::optional<Entry> entry = find_entry(name);
  return entry ? std::optional(entry->content) : std::nullopt;
}

Time PackedView::first_deadline(Time from) const {
  Time first = kNever;
  each([&](const Member& member) {
    if (member.deadline >= from) first = std::min(first, member.deadline);
    return true;
  });
  return first;
}

std::size_t PackedView::count_due(Time now) const {
  if (!has_deadlines() || !is_due(earliest(), now)) return 0;
  std::size_t due = 0;
  each([&](const Member& member) {
    if (is_due(member.deadline, now)) ++due;
    return true;
  });
  return due;
}

Member PackedView::at(std::size_t ordinal) const {
  assert(ordinal < count());
  std::size_t offset = form().header_size();
  for (; ordinal > 0; --ordinal) offset = entry_at(offset).end;
  return entry_at(offset).content;
}

std::string PackedView::check_invariants() const {
  if (std::string wrong = check_header(blob_); !wrong.empty()) return wrong;
  const PackedForm form = this->form();
  PackedFormFinder finder;
  std::set<std::string_view> names;
  std::optional<Member> before;
  std::size_t at = form.header_size();
  for (std::size_t i = count(); i > 0; --i) {
    std::size_t in = at;
    std::optional<std::size_t> name_size = form.name_size;
    if (form.name_size == 0) name_size = checked_varint(blob_, in);
    std::optional<std::size_t> value_size = fixed_size(payload());
    if (name_size && has_size(payload())) value_size = checked_varint(blob_, in);
    if (!name_size || !value_size) return "an invalid size";
    if (*name_size + *value_size + form.width > blob_.size() - in) return "an entry beyond the end";
    if (form.width == 4 && load<std::uint32_t>(blob_.data() + in) != kNone32 &&
        distance(form.base, kNever) <= load<std::uint32_t>(blob_.data() + in)) {
      return "an invalid deadline";
    }
    const Entry entry = entry_at(at);
    finder.add(entry.content.deadline);
    if (!names.insert(entry.content.name).second) return "a member that is stored twice";
    if (payload() == Payload::score) {
      if (before && !is_before(*before, entry.content)) return "members out of order";
      before = entry.content;
    }
    at = entry.end;
  }
  if (at != blob_.size()) return "bytes after the end";
  if (finder.form(form.name_size) != form) return "a form that does not fit its deadlines";
  return "";
}

}  // namespace mayfly
