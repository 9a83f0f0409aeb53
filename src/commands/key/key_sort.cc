// SPDX-License-Identifier: Apache-2.0
// SORT and SORT_RO, for lists, sets and sorted sets.
//
// Elements are sorted by their weights: numbers, or bytes with ALPHA. The weight of an element is
// the element itself, or what BY finds. A pattern names a key, with the element in place of its
// first `*`, or a field of a hash if `->field` follows. A pattern for BY without a `*` means: do
// not sort. Then the elements of a list and of a sorted set keep their order.
//
// STORE makes the destination a list. Its words are propagated as they are: what is due in the
// source is removed first, as keys and fields are that patterns find due, so a replica sees the
// same elements.

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "commands/call.h"
#include "commands/command.h"
#include "commands/key/sort_options.h"
#include "commands/members/name_list.h"
#include "commands/steps.h"

namespace mayfly {
namespace {

// ---- Elements: a function for each type that can be sorted ----

// The part of `size` elements that LIMIT asks for.
struct SortRange {
  SortRange(std::size_t from, std::size_t size) : first(from), count(size) {}
  SortRange(const SortOptions& options, std::size_t size) {
    const auto all = static_cast<std::int64_t>(size);
    const std::int64_t from = std::clamp<std::int64_t>(options.limit_first, 0, all);
    const std::int64_t most = options.limit_count < 0 ? all : options.limit_count;
    first = static_cast<std::size_t>(from);
    count = static_cast<std::size_t>(std::min(most, all - from));
  }
  std::size_t end() const { return first + count; }

  std::size_t first;
  std::size_t count;
};

// All elements, or only those of LIMIT if they are not sorted anyway.
struct SortElements {
  NameList names;
  bool is_limited = false;
};

SortElements elements_of_set(Call& call, Slot slot) {
  SortElements elements;
  call.members(slot).each([&](const Member& member) {
    elements.names.add(member.name);
    return true;
  });
  return elements;
}

SortElements elements_of_zset(Call& call, Slot slot, const SortOptions& options) {
  if (options.sorts) return elements_of_set(call, slot);
  SortElements elements{.names = {}, .is_limited = true};
  MembersRef zset = call.members(slot);
  {
    const MembersOrder order = zset.order();
    const SortRange range(options, order.size());
    const bool is_backward = options.is_descending;
    const std::size_t first = is_backward ? order.size() - 1 - range.first : range.first;
    if (range.count > 0) {
      order.visit(first, range.count, is_backward ? Direction::backward : Direction::forward,
                  [&](const Member& member) {
                    elements.names.add(member.name);
                    return true;
                  });
    }
  }
  call.finish(zset, call.word(1));
  return elements;
}

SortElements elements_of_list(Call& call, Slot slot, const SortOptions& options) {
  const ListRef list = call.database().list(slot);
  SortElements elements{.names = {}, .is_limited = !options.sorts};
  const SortRange range =
      options.sorts ? SortRange(0, list.size()) : SortRange(options, list.size());
  if (range.count == 0) return elements;
  const bool is_backward = !options.sorts && options.is_descending;
  list.each(is_backward ? list.size() - 1 - range.first : range.first, range.count, !is_backward,
            [&](const ListpackValue& value) {
              char digits[24];
              elements.names.add(value.as_text(digits));
              return true;
            });
  return elements;
}

// Removes the members that are due. Returns where the key is then.
Slot without_due_members(Call& call, Slot slot, std::string_view key) {
  if (call.context().policy != Policy::reclaim || !call.members(slot).has_deadlines()) return slot;
  while (call.database().sweep_key(call.context(), key, kMembersAtOnce, FoundBy::access) ==
         kMembersAtOnce) {
  }
  return call.find(key);
}

// Fails if the key has a type that cannot be sorted. Changes the options if the type needs it.
SortElements elements_of_key(Call& call, SortOptions& options) {
  Slot slot = call.find_to_read(call.word(1));
  if (slot == kNoSlot) return {};
  const ValueType type = call.database().type(slot);
  if (options.store && (type == ValueType::set || type == ValueType::zset)) {
    slot = without_due_members(call, slot, call.word(1));
    if (slot == kNoSlot) return {};
  }
  switch (type) {
    case ValueType::list:
      return elements_of_list(call, slot, options);
    case ValueType::set:
      // A set has no order. What is stored must be the same on all servers.
      if (!options.sorts && (options.store || call.context().wants_order)) {
        options.sorts = options.is_alpha = true;
        options.by.reset();
      }
      return elements_of_set(call, slot);
    case ValueType::zset:
      return elements_of_zset(call, slot, options);
    default:
      call.fail_wrong_type();
      return {};
  }
}

// ---- Patterns ----

// A pattern of BY or GET in its parts. The field is empty if there is none.
struct SortPattern {
  explicit SortPattern(std::string_view pattern) : is_element(pattern == "#") {
    const std::size_t star = pattern.find('*');
    if (star == pattern.npos) return;
    has_key = true;
    before = pattern.substr(0, star);
    after = pattern.substr(star + 1);
    const std::size_t arrow = after.find("->");
    if (arrow == after.npos || arrow + 2 == after.size()) return;
    field = after.substr(arrow + 2);
    after = after.substr(0, arrow);
  }

  bool is_element;
  bool has_key = false;
  std::string_view before;
  std::string_view after;
  std::string_view field;
};

// What the pattern finds for an element: nothing if there is no such key or field.
std::optional<std::string> look_up(Call& call, const SortPattern& pattern,
                                   std::string_view element) {
  if (pattern.is_element) return std::string(element);
  if (!pattern.has_key) return std::nullopt;
  std::string key(pattern.before);
  key.append(element).append(pattern.after);
  const Slot slot = call.find_to_read(key);
  if (slot == kNoSlot) return std::nullopt;
  const bool names_field = !pattern.field.empty();
  if (call.database().type(slot) != (names_field ? ValueType::hash : ValueType::string)) {
    return std::nullopt;
  }
  if (!names_field) return std::string(call.database().string(slot));

  MembersRef hash = call.members(slot);
  const std::optional<Member> found = hash.find(pattern.field);
  std::optional<std::string> value;
  if (found) value.emplace(found->value);
  call.finish(hash, key);
  return value;
}

// ---- Sorting ----

struct SortItem {
  std::string_view name;
  double number = 0;                // the weight, unless ALPHA
  std::optional<std::string> text;  // the weight of ALPHA and BY
};

// As strtod() reads it, which even takes an empty text for 0.
std::optional<double> weight_number(const std::string& text) {
  errno = 0;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (*end != '\0' || errno == ERANGE || std::isnan(number)) return std::nullopt;
  return number;
}

// An item for each name. Fails if a weight is no number.
std::vector<SortItem> weighted(Call& call, const NameList& names, const SortOptions& options) {
  std::vector<SortItem> items;
  items.reserve(names.size());
  const std::optional<SortPattern> by =
      options.by ? std::optional(SortPattern(*options.by)) : std::nullopt;
  bool is_valid = true;
  names.each([&](std::string_view name) {
    SortItem item{.name = name, .number = 0, .text = {}};
    if (options.sorts && by) item.text = look_up(call, *by, name);
    if (options.sorts && !options.is_alpha && (item.text || !by)) {
      const std::optional<double> number = weight_number(by ? *item.text : std::string(name));
      is_valid = is_valid && number;
      item.number = number.value_or(0);
    }
    items.push_back(std::move(item));
  });
  if (!is_valid) call.fail("ERR One or more scores can't be converted into double");
  return items;
}

// Equal weights are in the order of the names. An element without a weight comes before all others
// with ALPHA, and counts as 0 without it.
bool is_before(const SortItem& a, const SortItem& b, const SortOptions& options) {
  if (!options.is_alpha && a.number != b.number) return a.number < b.number;
  if (options.is_alpha && options.by && a.text != b.text) return a.text < b.text;
  return a.name < b.name;
}

void sort_items(std::vector<SortItem>& items, const SortOptions& options, const SortRange& range) {
  const auto end = items.begin() + static_cast<std::ptrdiff_t>(range.end());
  std::partial_sort(items.begin(), end, items.end(), [&](const SortItem& a, const SortItem& b) {
    return options.is_descending ? is_before(b, a, options) : is_before(a, b, options);
  });
}

// ---- Results ----

// Calls `emit(const std::optional<std::string>&)` with what GET finds, for each item in turn.
template <class Emit>
void each_found(Call& call, std::span<const SortItem> items, const SortOptions& options,
                Emit emit) {
  std::vector<SortPattern> patterns;
  for (const std::string_view pattern : options.get) patterns.emplace_back(pattern);
  for (const SortItem& item : items) {
    for (const SortPattern& pattern : patterns) emit(look_up(call, pattern, item.name));
  }
}

void reply_items(Call& call, std::span<const SortItem> items, const SortOptions& options) {
  Reply& reply = call.reply();
  reply.array(items.size() * std::max<std::size_t>(options.get.size(), 1));
  if (options.get.empty()) {
    for (const SortItem& item : items) reply.bulk(item.name);
    return;
  }
  each_found(call, items, options, [&](const std::optional<std::string>& found) {
    found ? reply.bulk(*found) : reply.null();
  });
}

// The key becomes a list of the results, whatever it was, or is removed if there are none.
void store_items(Call& call, std::span<const SortItem> items, const SortOptions& options) {
  NameList results;  // all of them first: a pattern may find the destination
  if (options.get.empty()) {
    for (const SortItem& item : items) results.add(item.name);
  }
  each_found(call, items, options, [&](const std::optional<std::string>& found) {
    results.add(found ? std::string_view(*found) : std::string_view());
  });
  const std::string_view key = *options.store;
  const auto count = static_cast<std::int64_t>(results.size());
  call.reply().integer(count);
  const Slot before = call.find(key);
  if (results.is_empty()) return before == kNoSlot ? void() : remove_key(call, before, key);

  Database& database = call.database();
  ListRef list = database.list(before == kNoSlot ? call.make_list(key)
                                                 : database.make_list(call.context(), key));
  results.each([&](std::string_view result) { list.push(ListEnd::tail, result); });
  list.finish();
  call.changed(key, count);
  call.notify(Event::list, "sortstore", key);
}

// ---- The command ----

// SORT key [option ...]
void sort(Call& call) {
  std::optional<SortOptions> options = read_sort_options(call);
  if (!options) return;
  const SortElements elements = elements_of_key(call, *options);
  if (call.has_failed()) return;
  std::vector<SortItem> items = weighted(call, elements.names, *options);
  if (call.has_failed()) return;

  if (!elements.is_limited) {
    const SortRange range(*options, items.size());
    if (options->sorts) sort_items(items, *options, range);
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(range.end()), items.end());
    items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(range.first));
  }
  options->store ? store_items(call, items, *options) : reply_items(call, items, *options);
}

}  // namespace

std::span<const Command> key_sort_commands() {
  static constexpr std::uint64_t kFlags =
      flag::movablekeys | flag::dangerous | flag::names_other_keys;
  static constexpr KeyRange kSorted = one_key(access::ro | access::access);
  static constexpr Command kRows[] = {
      {"sort", sort, -2, flag::write | flag::denyoom | flag::store_option | kFlags, kSorted,
       "generic", "1.0.0",
       "key [BY pattern:pattern] [LIMIT offset:int count:int] [GET pattern:pattern]... "
       "[order:(ASC | DESC)] [ALPHA] [STORE destination:key]",
       "Sorts a list, a set or a sorted set, and returns or stores the result."},
      {"sort_ro", sort, -2, flag::readonly | kFlags, kSorted, "generic", "7.0.0",
       "key [BY pattern:pattern] [LIMIT offset:int count:int] [GET pattern:pattern]... "
       "[order:(ASC | DESC)] [ALPHA]",
       "Sorts a list, a set or a sorted set, and returns the result."},
  };
  return kRows;
}

}  // namespace mayfly
