// SPDX-License-Identifier: Apache-2.0
// Planning and making changes of packed members.

#include "keyspace/members/packed_members.h"

#include <algorithm>
#include <cassert>

namespace mayfly {
namespace {

void store_count(char* blob, std::size_t count) {
  const auto count16 = static_cast<std::uint16_t>(count);
  std::memcpy(blob, &count16, sizeof count16);
}

void write_header(char* blob, std::size_t count, PackedForm form, Payload payload) {
  store_count(blob, count);
  blob[2] = static_cast<char>(form.width << 2 | static_cast<std::size_t>(payload));
  blob[3] = static_cast<char>(form.name_size);
  const std::int64_t base = form.base.time_since_epoch().count();
  if (form.width != 0) std::memcpy(blob + kPackedEmptySize, &base, sizeof base);
}

// The form when the entry at `offset` (none, if it is the end) gets this deadline.
PackedForm form_after(std::string_view blob, std::size_t offset, Time deadline) {
  const PackedView view(blob);
  const PackedForm form = view.form();
  PackedFormFinder finder;
  finder.add(deadline);
  std::size_t at = form.header_size();
  for (std::size_t i = view.count(); i > 0; --i) {
    const PackedView::Entry entry = view.entry_at(at);
    if (at != offset) finder.add(entry.content.deadline);
    at = entry.end;
  }
  return finder.form(form.name_size);
}

// How much larger so many entries and their header are in another form, modulo 2^64. Names that
// were equally long have less than 128 bytes.
std::size_t growth(PackedForm from, PackedForm to, std::size_t count) {
  const std::size_t entry =
      (to.width + (to.name_size == 0 ? 1u : 0u)) - (from.width + (from.name_size == 0 ? 1u : 0u));
  return to.header_size() - from.header_size() + count * entry;
}

// Writes all entries in another form, and a new one for the entry at `offset`. Returns the new
// size. REQUIRES: room for it, and that the form fits.
std::size_t reform(char* blob, std::size_t size, PackedForm to, std::size_t offset, Time deadline) {
  const PackedView view({blob, size});
  const PackedForm from = view.form();
  const std::size_t count = view.count();
  const Payload payload = view.payload();
  const std::size_t new_size = size + growth(from, to, count);

  // If it grows, the entries go to the end first. From there each finds its place before itself.
  const std::size_t moved = new_size > size ? new_size - size : 0;
  if (moved > 0) {
    std::memmove(blob + from.header_size() + moved, blob + from.header_size(),
                 size - from.header_size());
  }
  write_header(blob, count, to, payload);
  const char* source = blob + from.header_size() + moved;
  char* target = blob + to.header_size();
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_changed = source == blob + offset + moved;
    const std::size_t name_size = from.read_name_size(source);
    const std::size_t value_size = read_size(source, payload);
    const Time present = from.read_deadline(source);
    source += from.width;

    if (to.name_size == 0) target = write_varint(target, name_size);
    target = write_size(target, payload, value_size);
    to.write_deadline(target, is_changed ? deadline : present);
    std::memmove(target + to.width, source, name_size + value_size);
    source += name_size + value_size;
    target += to.width + name_size + value_size;
  }
  return new_size;
}

// Gives the entry a value of another size, which is not written yet. Returns the blob's new size.
// Only a payload that has a size can change it.
std::size_t resize_payload(char* blob, std::size_t size, std::size_t offset,
                           std::size_t value_size) {
  const PackedView view({blob, size});
  const PackedView::Entry entry = view.entry_at(offset);
  const Member& old = entry.content;
  if (value_size == old.value.size()) return size;

  const std::size_t name_head = view.form().name_size_bytes(old.name.size());
  const std::size_t new_head = name_head + varint_size(value_size) + view.form().width;
  const std::size_t new_end = offset + new_head + old.name.size() + value_size;
  const auto head = static_cast<std::size_t>(old.name.data() - blob) - offset;
  const auto move_head = [&] {
    if (new_head == head) return;
    std::memmove(blob + offset + new_head - view.form().width, blob + entry.deadline_offset,
                 view.form().width + old.name.size());
  };
  // If parts move towards the end, the last one goes first.
  if (new_end < entry.end) move_head();
  std::memmove(blob + new_end, blob + entry.end, size - entry.end);
  if (new_end > entry.end) move_head();
  write_varint(blob + offset + name_head, value_size);
  return size - entry.end + new_end;
}

// `existing` is the member's entry if there is one.
PackedPut plan(std::string_view blob, const std::optional<PackedView::Entry>& existing,
               std::string_view name, std::size_t value_size, Time deadline) {
  const PackedView view(blob);
  const PackedForm form = view.form();
  PackedPut put;
  put.is_new = !existing;
  put.old_deadline = existing ? existing->content.deadline : kNever;
  put.deadline = deadline;
  put.offset = existing ? existing->offset : blob.size();
  put.form = form.allows_change(put.old_deadline, deadline)
                 ? form
                 : form_after(blob, put.offset, deadline);
  if (view.count() == 0) put.form.name_size = common_name_size(name.size());
  if (put.form.name_size != name.size()) put.form.name_size = 0;

  assert(view.count() + (existing ? 0 : 1) <= kPackedMembersMax);
  put.size = blob.size() + growth(form, put.form, view.count());
  if (existing) {
    const std::size_t old_size = existing->content.value.size();
    put.size -= size_bytes(view.payload(), old_size) + old_size;
  } else {
    put.size += put.form.name_size_bytes(name.size()) + put.form.width + name.size();
  }
  put.size += size_bytes(view.payload(), value_size) + value_size;
  return put;
}

// Moves the entry at `offset` to its place in the order of scores.
void sort_entry(char* blob, std::size_t size, std::size_t offset) {
  const PackedView view({blob, size});
  const PackedView::Entry moved = view.entry_at(offset);
  std::size_t place = view.form().header_size();
  for (std::size_t i = view.count(); i > 0; --i) {
    const PackedView::Entry entry = view.entry_at(place);
    if (place != offset && is_before(moved.content, entry.content)) break;
    place = entry.end;
  }
  if (place < offset) std::rotate(blob + place, blob + offset, blob + moved.end);
  if (place > moved.end) std::rotate(blob + offset, blob + moved.end, blob + place);
}

// Returns the end of the entry.
char* write_entry(char* to, PackedForm form, const Member& member, Payload payload) {
  if (form.name_size == 0) to = write_varint(to, member.name.size());
  to = write_size(to, payload, member.value.size());
  form.write_deadline(to, member.deadline);
  return write_bytes(write_bytes(to + form.width, member.name), member.value);
}

PackedForm form_of(std::span<const Member> members) {
  PackedFormFinder finder;
  std::size_t name_size = members.empty() ? 0 : common_name_size(members.front().name.size());
  for (const Member& member : members) {
    finder.add(member.deadline);
    if (member.name.size() != name_size) name_size = 0;
  }
  return finder.form(name_size);
}

}  // namespace

std::size_t packed_create(char* out, Payload payload) {
  write_header(out, 0, {}, payload);
  return kPackedEmptySize;
}

std::size_t packed_size(std::span<const Member> members, Payload payload) {
  const PackedForm form = form_of(members);
  std::size_t size = form.header_size() + members.size() * form.width;
  for (const Member& member : members) {
    size += form.name_size_bytes(member.name.size()) + member.name.size();
    size += size_bytes(payload, member.value.size()) + member.value.size();
  }
  return size;
}

std::size_t packed_build(char* out, std::span<const Member> members, Payload payload) {
  assert(members.size() <= kPackedMembersMax);
  const PackedForm form = form_of(members);
  write_header(out, members.size(), form, payload);
  char* to = out + form.header_size();
  for (const Member& member : members) to = write_entry(to, form, member, payload);
  return static_cast<std::size_t>(to - out);
}

PackedPut packed_plan_put(std::string_view blob, std::string_view name, std::string_view value,
                          Time deadline) {
  return plan(blob, PackedView(blob).find_entry(name), name, value.size(), deadline);
}

// No step on the way takes more room than the sizes before and after: a value that shrinks does so
// first, and one that grows last.
std::size_t packed_apply(char* blob, std::size_t size, const PackedPut& put, std::string_view name,
                         std::string_view value) {
  const PackedForm form = PackedView({blob, size}).form();
  if (put.is_new) {
    if (put.form != form) size = reform(blob, size, put.form, put.offset, kNever);
    const PackedView view({blob, size});
    write_entry(blob + size, put.form, {name, value, put.deadline}, view.payload());
    store_count(blob, view.count() + 1);
    if (view.payload() == Payload::score) sort_entry(blob, put.size, size);
    return put.size;
  }

  std::size_t offset = put.offset;
  PackedView::Entry entry = PackedView({blob, size}).entry_at(offset);
  const std::size_t old_size = entry.content.value.size();
  if (put.form == form) form.write_deadline(blob + entry.deadline_offset, put.deadline);
  if (value.size() < old_size) size = resize_payload(blob, size, offset, value.size());
  if (put.form != form) {
    size = reform(blob, size, put.form, offset, put.deadline);
    offset = PackedView({blob, size}).find_entry(name)->offset;
  }
  if (value.size() > old_size) size = resize_payload(blob, size, offset, value.size());
  if (put.form != form || value.size() != old_size) {
    entry = PackedView({blob, size}).entry_at(offset);
  }
  if (!value.empty()) std::memcpy(blob + entry.end - value.size(), value.data(), value.size());
  assert(size == put.size);
  if (PackedView({blob, size}).payload() == Payload::score) sort_entry(blob, size, offset);
  return size;
}

PackedPut packed_plan_deadline(std::string_view blob, std::string_view name, Time deadline) {
  const std::optional<PackedView::Entry> existing = PackedView(blob).find_entry(name);
  assert(existing);
  return plan(blob, existing, name, existing->content.value.size(), deadline);
}

std::size_t packed_apply_deadline(char* blob, std::size_t size, const PackedPut& put) {
  const PackedView view({blob, size});
  if (put.form != view.form()) return reform(blob, size, put.form, put.offset, put.deadline);
  put.form.write_deadline(blob + view.entry_at(put.offset).deadline_offset, put.deadline);
  return size;
}

std::size_t packed_erase(char* blob, std::size_t size, std::string_view name) {
  const PackedView view({blob, size});
  const PackedForm form = view.form();
  const std::optional<PackedView::Entry> entry = view.find_entry(name);
  assert(entry);
  const PackedForm after = form.allows_change(entry->content.deadline, kNever)
                               ? form
                               : form_after({blob, size}, entry->offset, kNever);

  std::memmove(blob + entry->offset, blob + entry->end, size - entry->end);
  size -= entry->end - entry->offset;
  store_count(blob, view.count() - 1);
  return after == form ? size : reform(blob, size, after, size, kNever);
}

std::size_t packed_take_due(char* blob, std::size_t size, Time now, std::size_t limit,
                            std::vector<std::string>& names, std::vector<Time>* deadlines,
                            const SeeMember& see) {
  const PackedView view({blob, size});
  const PackedForm form = view.form();
  if (form.width == 0 || !is_due(form.base, now)) return size;

  PackedFormFinder finder;  // of what stays
  std::size_t count = 0;
  std::size_t from = form.header_size();
  std::size_t to = from;
  for (std::size_t i = view.count(); i > 0; --i) {
    const PackedView::Entry entry = view.entry_at(from);
    from = entry.end;
    if (limit > 0 && is_due(entry.content.deadline, now)) {
      --limit;
      if (see) see(entry.content);
      names.emplace_back(entry.content.name);
      if (deadlines != nullptr) deadlines->push_back(entry.content.deadline);
      continue;
    }
    finder.add(entry.content.deadline);
    ++count;
    std::memmove(blob + to, blob + entry.offset, entry.end - entry.offset);
    to += entry.end - entry.offset;
  }
  store_count(blob, count);
  const PackedForm after = finder.form(form.name_size);
  return after == form ? to : reform(blob, to, after, to, kNever);
}

}  // namespace mayfly
