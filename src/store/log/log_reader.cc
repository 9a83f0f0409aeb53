// SPDX-License-Identifier: Apache-2.0
// LogReader: how the log goes on from one record to the next, and where it ends.

#include "store/log/log_file.h"
#include "store/log/test_hooks.h"

namespace mayfly::internal {

std::optional<RecordView> LogReader::next() {
  std::optional<RecordView> record = read_record(rest_, place_.position, place_.chain);
  if (!record) [[unlikely]] {
    record = next_elsewhere();
    if (!record) return std::nullopt;
  }
  place_ = {record->end(), record->chain};
  rest_.remove_prefix(record->bytes);
  return record;
}

// Goes to the segment whose header names this place. A reader that has not read a record yet may
// begin in the midst of a segment; it does so in the one that has the record. (After a power cut a
// segment may claim positions that were given again, to records of the other one.)
std::optional<RecordView> LogReader::next_elsewhere() {
  for (const int number : {0, 1}) {
    const bool has_grown =
        number == segment_ && file_->bytes_at(number, place_.position).size() > rest_.size();
    if (segment_ >= 0 && file_->segment(number) != place_ && !has_grown) {
      const auto start = file_->segment(number);
      if (rule_on(Rule::seg_link) || !start || start->position < place_.position) continue;
      place_ = *start;
    }
    const std::string_view bytes = file_->bytes_at(number, place_.position);
    const auto record = read_record(bytes, place_.position, place_.chain);
    if (!record) continue;
    segment_ = number;
    rest_ = bytes;
    return record;
  }
  return std::nullopt;
}

std::optional<int> LogReader::segment() const {
  for (const int number : {0, 1}) {
    if (file_->segment(number) == place_) return number;
  }
  if (segment_ >= 0) return segment_;
  return file_->segment_of(place_.position);
}

bool LogReader::has_records_behind() const {
  for (const int number : {0, 1}) {
    const std::optional<LogPlace> start = file_->segment(number);
    if (!start || start->position <= place_.position) continue;
    const std::string_view bytes = file_->bytes_at(number, start->position);
    if (read_record(bytes, start->position, start->chain)) return true;
  }
  const std::optional<int> number = segment();
  if (!number) return false;
  const std::string_view bytes = file_->bytes_at(*number, place_.position);
  std::size_t budget = 4 * file_->segment_bytes();  // of bytes to check, for a log made to be slow
  for (std::size_t at = 0; at + kRecordHeaderBytes <= bytes.size(); at += 8) {
    const auto first = read_unchained(bytes.substr(at), place_.position + at);
    if (!first) continue;
    const std::string_view behind = bytes.substr(at + first->bytes);
    const auto second = read_unchained(behind, first->end());
    if (!second) continue;
    if (second->bytes > budget) return false;
    budget -= second->bytes;
    if (read_record(behind, first->end(), first->chain)) return true;
  }
  return false;
}

}  // namespace mayfly::internal
