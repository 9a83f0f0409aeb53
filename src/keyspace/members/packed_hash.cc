// SPDX-License-Identifier: Apache-2.0
#include "keyspace/members/packed_hash.h"

#include <algorithm>
#include <cassert>
#include <set>

#include "keyspace/members/varint.h"

namespace mayfly {

namespace {

// What a deadline of four bytes can say: the latest, and that there is none.
constexpr std::uint64_t kFarthest = 0xFFFFFFFE;  // 49.7 days
constexpr std::uint32_t kNone32 = 0xFFFFFFFF;
static_assert(kNone32 == kFarthest + 1);

constexpr std::size_t kVarintMax = 5;
constexpr std::uint64_t kSizeMax = 0xFFFFFFFF;  // of a field or a value

template <class T>
T load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <class T>
void store(char* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

std::int64_t count_of(Time time) { return time.time_since_epoch().count(); }

// As a distance that cannot overflow. REQUIRES: from <= to.
std::uint64_t distance(Time from, Time to) {
  return static_cast<std::uint64_t>(count_of(to)) - static_cast<std::uint64_t>(count_of(from));
}

Time read_deadline(const char* from, PackedForm form) {
  if (form.width == 0) return kNever;
  if (form.width == 8) return Time(Millis(load<std::int64_t>(from)));
  const auto after = load<std::uint32_t>(from);
  return after == kNone32 ? kNever : form.base + Millis(after);
}

void write_deadline(char* to, PackedForm form, Time deadline) {
  if (form.width == 0) return;
  if (form.width == 8) return store(to, count_of(deadline));
  store(to,
        deadline == kNever ? kNone32 : static_cast<std::uint32_t>(distance(form.base, deadline)));
}

void write_header(char* blob, std::size_t count, PackedForm form) {
  store(blob, static_cast<std::uint16_t>(count));
  blob[2] = static_cast<char>(form.width);
  blob[3] = 0;
  if (form.width != 0) store(blob + kPackedEmptySize, count_of(form.base));
}

// The form that a set of deadlines needs.
class FormFinder {
 public:
  void add(Time deadline) {
    if (deadline == kNever) return;
    least_ = std::min(least_, deadline);
    greatest_ = std::max(greatest_, deadline);
  }

  PackedForm form() const {
    if (least_ == kNever) return {};
    return {.width = distance(least_, greatest_) <= kFarthest ? 4u : 8u, .base = least_};
  }

 private:
  Time least_ = kNever;
  Time greatest_ = Time::min();
};

// The form when the entry at `offset` (none, if it is the end) gets this deadline.
PackedForm form_after(std::string_view blob, std::size_t offset, Time deadline) {
  const PackedView view(blob);
  const PackedForm form = view.form();
  FormFinder finder;
  finder.add(deadline);
  std::size_t at = form.header_size();
  for (std::size_t i = view.count(); i > 0; --i) {
    const PackedView::Entry entry = view.entry_at(at);
    if (at != offset) finder.add(entry.content.deadline);
    at = entry.end;
  }
  return finder.form();
}

// Whether a deadline may give way to another without a look at the rest of them.
bool keeps_form(PackedForm form, Time from, Time to) {
  if (from == to) return true;
  if (form.width != 4 || from == form.base) return false;
  return to == kNever || (to >= form.base && distance(form.base, to) <= kFarthest);
}

// Writes all deadlines in another form, that of the entry at `offset` with a new value, and returns
// the new size. REQUIRES: room for it, and that the form fits.
std::size_t reform(char* blob, std::size_t size, PackedForm to, std::size_t offset, Time deadline) {
  const PackedView view({blob, size});
  const PackedForm from = view.form();
  const std::size_t count = view.count();
  const std::size_t new_size =
      size - from.header_size() - count * from.width + to.header_size() + count * to.width;

  // If it grows, the entries go to the end first. From there each finds its place before itself.
  const std::size_t moved = new_size > size ? new_size - size : 0;
  if (moved > 0) {
    std::memmove(blob + from.header_size() + moved, blob + from.header_size(),
                 size - from.header_size());
  }
  write_header(blob, count, to);
  const char* source = blob + from.header_size() + moved;
  char* target = blob + to.header_size();
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_changed = source == blob + offset + moved;
    const char* const head = source;
    const std::size_t field_size = read_varint(source);
    const std::size_t value_size = read_varint(source);
    const auto head_size = static_cast<std::size_t>(source - head);
    const Time present = read_deadline(source, from);
    source += from.width;

    std::memmove(target, head, head_size);
    write_deadline(target + head_size, to, is_changed ? deadline : present);
    std::memmove(target + head_size + to.width, source, field_size + value_size);
    source += field_size + value_size;
    target += head_size + to.width + field_size + value_size;
  }
  return new_size;
}

// Gives the entry a value of another size, which is not written yet. Returns the blob's new size.
std::size_t resize_value(char* blob, std::size_t size, std::size_t offset, std::size_t value_size) {
  const PackedView view({blob, size});
  const PackedView::Entry entry = view.entry_at(offset);
  const HashField& old = entry.content;
  if (value_size == old.value.size()) return size;

  const std::size_t new_head =
      varint_size(old.field.size()) + varint_size(value_size) + view.form().width;
  const std::size_t new_end = offset + new_head + old.field.size() + value_size;
  const auto head = static_cast<std::size_t>(old.field.data() - blob) - offset;
  const auto move_head = [&] {
    if (new_head == head) return;
    std::memmove(blob + offset + new_head - view.form().width, blob + entry.deadline_offset,
                 view.form().width + old.field.size());
  };
  // What moves towards the end goes last part first.
  if (new_end < entry.end) move_head();
  std::memmove(blob + new_end, blob + entry.end, size - entry.end);
  if (new_end > entry.end) move_head();
  write_varint(blob + offset + varint_size(old.field.size()), value_size);
  return size - entry.end + new_end;
}

PackedPut plan(std::string_view blob, const std::optional<PackedView::Entry>& there,
               std::size_t field_size, std::size_t value_size, Time deadline) {
  const PackedView view(blob);
  const PackedForm form = view.form();
  PackedPut put;
  put.is_new = !there;
  put.old_deadline = there ? there->content.deadline : kNever;
  put.deadline = deadline;
  put.offset = there ? there->offset : blob.size();
  put.form =
      keeps_form(form, put.old_deadline, deadline) ? form : form_after(blob, put.offset, deadline);

  const std::size_t fields = view.count() + (there ? 0 : 1);
  assert(fields <= kPackedFieldsMax);
  put.size = blob.size() - form.header_size() - view.count() * form.width + put.form.header_size() +
             fields * put.form.width;
  if (there) put.size -= varint_size(there->content.value.size()) + there->content.value.size();
  if (!there) put.size += varint_size(field_size) + field_size;
  put.size += varint_size(value_size) + value_size;
  return put;
}

// Returns where it ends.
char* write_entry(char* to, PackedForm form, const HashField& entry) {
  to = write_varint(write_varint(to, entry.field.size()), entry.value.size());
  write_deadline(to, form, entry.deadline);
  to += form.width;
  if (!entry.field.empty()) std::memcpy(to, entry.field.data(), entry.field.size());
  to += entry.field.size();
  if (!entry.value.empty()) std::memcpy(to, entry.value.data(), entry.value.size());
  return to + entry.value.size();
}

PackedForm form_of(std::span<const HashField> fields) {
  FormFinder finder;
  for (const HashField& field : fields) finder.add(field.deadline);
  return finder.form();
}

void append(char* blob, std::size_t size, const PackedPut& put, std::string_view field,
            std::string_view value) {
  write_entry(blob + size, put.form, {.field = field, .value = value, .deadline = put.deadline});
  store(blob, static_cast<std::uint16_t>(PackedView({blob, size}).count() + 1));
}

// Names in one hash often begin alike: a look at the last byte spares most comparisons.
bool is_same(const char* text, std::string_view field) {
  if (field.empty()) return true;
  return text[field.size() - 1] == field.back() &&
         std::memcmp(text, field.data(), field.size()) == 0;
}

}  // namespace

std::size_t PackedView::count() const { return load<std::uint16_t>(blob_.data()); }

PackedForm PackedView::form() const {
  if (width() == 0) return {};
  const auto base = load<std::int64_t>(blob_.data() + kPackedEmptySize);
  return {.width = width(), .base = Time(Millis(base))};
}

PackedView::Entry PackedView::entry_at(std::size_t offset) const {
  const char* at = blob_.data() + offset;
  const std::size_t field_size = read_varint(at);
  const std::size_t value_size = read_varint(at);
  Entry entry;
  entry.offset = offset;
  entry.deadline_offset = static_cast<std::size_t>(at - blob_.data());
  entry.content.deadline = read_deadline(at, form());
  at += width();
  entry.content.field = {at, field_size};
  entry.content.value = {at + field_size, value_size};
  entry.end = static_cast<std::size_t>(at - blob_.data()) + field_size + value_size;
  return entry;
}

std::optional<PackedView::Entry> PackedView::find_entry(std::string_view field) const {
  const std::size_t deadline_size = width();
  const char* at = blob_.data() + (deadline_size == 0 ? kPackedEmptySize : kPackedEmptySize + 8);
  for (std::size_t i = count(); i > 0; --i) {
    const char* const begin = at;
    const std::size_t field_size = read_varint(at);
    const std::size_t value_size = read_varint(at);
    at += deadline_size;
    if (field_size == field.size() && is_same(at, field)) {
      return entry_at(static_cast<std::size_t>(begin - blob_.data()));
    }
    at += field_size + value_size;
  }
  return std::nullopt;
}

std::optional<HashField> PackedView::find(std::string_view field) const {
  const std::optional<Entry> entry = find_entry(field);
  return entry ? std::optional(entry->content) : std::nullopt;
}

std::size_t PackedView::count_due(Time now) const {
  if (!has_deadlines() || !is_due(earliest(), now)) return 0;
  std::size_t due = 0;
  each([&](const HashField& field) {
    if (is_due(field.deadline, now)) ++due;
    return true;
  });
  return due;
}

HashField PackedView::at(std::size_t ordinal) const {
  assert(ordinal < count());
  std::size_t offset = form().header_size();
  for (; ordinal > 0; --ordinal) offset = entry_at(offset).end;
  return entry_at(offset).content;
}

std::size_t packed_create(char* out) {
  write_header(out, 0, {});
  return kPackedEmptySize;
}

std::size_t packed_size(std::span<const HashField> fields) {
  const PackedForm form = form_of(fields);
  std::size_t size = form.header_size() + fields.size() * form.width;
  for (const HashField& field : fields) {
    size += varint_size(field.field.size()) + field.field.size();
    size += varint_size(field.value.size()) + field.value.size();
  }
  return size;
}

std::size_t packed_build(char* out, std::span<const HashField> fields) {
  assert(fields.size() <= kPackedFieldsMax);
  const PackedForm form = form_of(fields);
  write_header(out, fields.size(), form);
  char* to = out + form.header_size();
  for (const HashField& field : fields) to = write_entry(to, form, field);
  return static_cast<std::size_t>(to - out);
}

PackedPut packed_plan_put(std::string_view blob, std::string_view field, std::string_view value,
                          Time deadline) {
  return plan(blob, PackedView(blob).find_entry(field), field.size(), value.size(), deadline);
}

// No step on the way takes more room than the sizes before and after: a value that shrinks does so
// first, and one that grows last.
std::size_t packed_apply(char* blob, std::size_t size, const PackedPut& put, std::string_view field,
                         std::string_view value) {
  const PackedForm form = PackedView({blob, size}).form();
  if (put.is_new) {
    if (put.form != form) size = reform(blob, size, put.form, put.offset, kNever);
    append(blob, size, put, field, value);
    return put.size;
  }

  std::size_t offset = put.offset;
  PackedView::Entry entry = PackedView({blob, size}).entry_at(offset);
  const std::size_t old_size = entry.content.value.size();
  if (put.form == form) write_deadline(blob + entry.deadline_offset, form, put.deadline);
  if (value.size() < old_size) size = resize_value(blob, size, offset, value.size());
  if (put.form != form) {
    size = reform(blob, size, put.form, offset, put.deadline);
    offset = PackedView({blob, size}).find_entry(field)->offset;
  }
  if (value.size() > old_size) size = resize_value(blob, size, offset, value.size());
  if (put.form != form || value.size() != old_size) {
    entry = PackedView({blob, size}).entry_at(offset);
  }
  if (!value.empty()) std::memcpy(blob + entry.end - value.size(), value.data(), value.size());
  assert(size == put.size);
  return size;
}

std::size_t packed_put_size(std::string_view blob, std::string_view field, std::string_view value,
                            Time deadline) {
  return packed_plan_put(blob, field, value, deadline).size;
}

std::size_t packed_put(char* blob, std::size_t size, std::string_view field, std::string_view value,
                       Time deadline) {
  const PackedPut put = packed_plan_put({blob, size}, field, value, deadline);
  return packed_apply(blob, size, put, field, value);
}

std::size_t packed_set_deadline_size(std::string_view blob, std::string_view field, Time deadline) {
  const std::optional<PackedView::Entry> there = PackedView(blob).find_entry(field);
  assert(there);
  return plan(blob, there, field.size(), there->content.value.size(), deadline).size;
}

std::size_t packed_set_deadline(char* blob, std::size_t size, std::string_view field,
                                Time deadline) {
  const PackedView view({blob, size});
  const std::optional<PackedView::Entry> there = view.find_entry(field);
  assert(there);
  const PackedPut put =
      plan({blob, size}, there, field.size(), there->content.value.size(), deadline);
  if (put.form != view.form()) return reform(blob, size, put.form, put.offset, deadline);
  write_deadline(blob + there->deadline_offset, put.form, deadline);
  return size;
}

std::size_t packed_erase(char* blob, std::size_t size, std::string_view field) {
  const PackedView view({blob, size});
  const PackedForm form = view.form();
  const std::optional<PackedView::Entry> entry = view.find_entry(field);
  assert(entry);
  const PackedForm after = keeps_form(form, entry->content.deadline, kNever)
                               ? form
                               : form_after({blob, size}, entry->offset, kNever);

  std::memmove(blob + entry->offset, blob + entry->end, size - entry->end);
  size -= entry->end - entry->offset;
  store(blob, static_cast<std::uint16_t>(view.count() - 1));
  return after == form ? size : reform(blob, size, after, size, kNever);
}

std::size_t packed_take_due(char* blob, std::size_t size, Time now, std::size_t limit,
                            std::vector<std::string>& fields, std::vector<Time>* deadlines) {
  const PackedView view({blob, size});
  const PackedForm form = view.form();
  if (form.width == 0 || !is_due(form.base, now)) return size;

  FormFinder finder;  // of what stays
  std::size_t count = 0;
  std::size_t from = form.header_size();
  std::size_t to = from;
  for (std::size_t i = view.count(); i > 0; --i) {
    const PackedView::Entry entry = view.entry_at(from);
    from = entry.end;
    if (limit > 0 && is_due(entry.content.deadline, now)) {
      --limit;
      fields.emplace_back(entry.content.field);
      if (deadlines != nullptr) deadlines->push_back(entry.content.deadline);
      continue;
    }
    finder.add(entry.content.deadline);
    ++count;
    std::memmove(blob + to, blob + entry.offset, entry.end - entry.offset);
    to += entry.end - entry.offset;
  }
  store(blob, static_cast<std::uint16_t>(count));
  return finder.form() == form ? to : reform(blob, to, finder.form(), to, kNever);
}

namespace {

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

}  // namespace

std::string packed_check(std::string_view blob) {
  if (blob.size() < kPackedEmptySize) return "no header";
  const auto width = static_cast<unsigned char>(blob[2]);
  if ((width != 0 && width != 4 && width != 8) || blob[3] != 0) return "a header that cannot be";
  if (width != 0 && blob.size() < kPackedEmptySize + 8) return "no base";

  const PackedView view(blob);
  const PackedForm form = view.form();
  FormFinder finder;
  std::set<std::string_view> fields;
  std::size_t at = form.header_size();
  for (std::size_t i = view.count(); i > 0; --i) {
    std::size_t in = at;
    const std::optional<std::size_t> field_size = checked_varint(blob, in);
    const std::optional<std::size_t> value_size =
        field_size ? checked_varint(blob, in) : field_size;
    if (!value_size) return "a size that cannot be";
    if (*field_size + *value_size + width > blob.size() - in) return "an entry beyond the end";
    if (width == 4 && load<std::uint32_t>(blob.data() + in) != kNone32 &&
        distance(form.base, kNever) <= load<std::uint32_t>(blob.data() + in)) {
      return "a deadline that cannot be";
    }
    const PackedView::Entry entry = view.entry_at(at);
    finder.add(entry.content.deadline);
    if (!fields.insert(entry.content.field).second) return "a field that is there twice";
    at = entry.end;
  }
  if (at != blob.size()) return "bytes after the end";
  if (finder.form() != form) return "a form that does not fit its deadlines";
  return "";
}

}  // namespace mayfly
