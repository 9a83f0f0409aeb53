// SPDX-License-Identifier: Apache-2.0
// Patterns that are prepared. The first run is at the beginning of a text, the last one at its end,
// and each of the others at the first place behind the one before: a later place would leave less
// for the rest.
//
// A run of plain bytes is found by memmem(), which is linear. Others are found by bits: bit i is
// set while the last i + 1 bytes match the first i + 1 signs (Shift-And, Baeza-Yates and Gonnet).

#include <algorithm>
#include <cstring>

#include "resp/glob.h"

namespace mayfly {
namespace {

constexpr std::size_t kBytes = 256;
constexpr std::size_t kWordBits = 64;
constexpr std::size_t kFewSigns = 16;  // compared at each place, as masks would take more memory

bool is_letter(char byte) { return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z'); }

std::size_t code(char byte) { return static_cast<unsigned char>(byte); }

std::size_t fold(std::size_t byte, bool ignore_case) {
  return ignore_case && byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte;
}

std::size_t words_for(std::size_t signs) { return (signs + kWordBits - 1) / kWordBits; }

}  // namespace

GlobRuns::GlobRuns(std::string_view pattern, bool ignore_case) : sets_{Set().set()} {
  runs_.push_back({0, 0});
  std::size_t at = 0;
  while (at < pattern.size()) {
    const char sign = pattern[at++];
    if (sign == '*') {
      const bool is_repeated = runs_.size() > 1 && runs_.back().begin == signs_.size();
      if (!is_repeated) runs_.push_back({signs_.size(), signs_.size()});
      continue;
    }
    if (sign == '?') {
      add_set(sets_.front());
    } else if (sign == '[') {
      at = add_brackets(pattern, at, ignore_case);
    } else {
      const bool escaped = sign == '\\' && at < pattern.size();
      add_byte(escaped ? pattern[at++] : sign, ignore_case);
    }
    runs_.back().end = signs_.size();
  }
}

void GlobRuns::add_byte(char byte, bool ignore_case) {
  if (ignore_case && is_letter(byte)) {
    constexpr std::size_t kCaseBit = 'a' ^ 'A';
    return add_set(Set().set(code(byte)).set(code(byte) ^ kCaseBit));
  }
  signs_.push_back(static_cast<Sign>(code(byte)));
  bytes_.push_back(byte);
}

void GlobRuns::add_set(const Set& set) {
  runs_.back().is_plain = false;
  bytes_.push_back('\0');
  const bool is_any = set.all();
  signs_.push_back(static_cast<Sign>(kBytes + (is_any ? 0 : sets_.size())));
  if (!is_any) sets_.push_back(set);
}

// The inside of brackets begins at `at`. Returns the place behind them.
std::size_t GlobRuns::add_brackets(std::string_view pattern, std::size_t at, bool ignore_case) {
  const bool negated = at < pattern.size() && pattern[at] == '^';
  if (negated) ++at;
  Set exact;
  Set folded;
  while (at < pattern.size() && pattern[at] != ']') {
    const std::string_view rest = pattern.substr(at);
    if (rest[0] == '\\' && rest.size() >= 2) {
      exact.set(code(rest[1]));
      at += 2;
    } else if (rest.size() >= 3 && rest[1] == '-') {
      const auto [low, high] =
          std::minmax({fold(code(rest[0]), ignore_case), fold(code(rest[2]), ignore_case)});
      folded |= (Set().set() << low) & (Set().set() >> (kBytes - 1 - high));
      at += 3;
    } else {
      folded.set(fold(code(rest[0]), ignore_case));
      at += 1;
    }
  }
  if (at < pattern.size()) ++at;
  for (std::size_t byte = 0; ignore_case && byte < kBytes; ++byte) {
    if (folded[fold(byte, true)]) exact.set(byte);
    if (fold(byte, true) != byte) folded.reset(byte);
  }
  exact |= folded;
  add_set(negated ? ~exact : exact);
  return at;
}

std::size_t GlobRuns::longest_search() const {
  std::size_t longest = 0;
  for (std::size_t i = 1; i + 1 < runs_.size(); ++i) {
    if (!runs_[i].is_plain) longest = std::max(longest, runs_[i].size());
  }
  return longest;
}

bool GlobRuns::is_match(Sign sign, char byte) const {
  return sign < kBytes ? sign == code(byte) : sets_[sign - kBytes][code(byte)];
}

// Whether the text begins with the run. REQUIRES: it is no shorter.
bool GlobRuns::is_at(const Run& run, std::string_view text) const {
  for (std::size_t i = 0; i < run.size(); ++i) {
    if (!is_match(signs_[run.begin + i], text[i])) return false;
  }
  return true;
}

// The first place of the run in the text, or npos.
std::size_t GlobRuns::find(Run& run, std::string_view text) const {
  if (run.size() > text.size()) return std::string_view::npos;
  if (run.is_plain) {
    const void* const found =
        memmem(text.data(), text.size(), bytes_.data() + run.begin, run.size());
    if (found == nullptr) return std::string_view::npos;
    return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
  }
  if (run.size() > kFewSigns) return find_by_masks(run, text);
  for (std::size_t i = 0; i + run.size() <= text.size(); ++i) {
    if (is_at(run, text.substr(i))) return i;
  }
  return std::string_view::npos;
}

void GlobRuns::fill_masks(Run& run) const {
  const std::size_t words = words_for(run.size());
  run.masks.resize(kBytes * words);
  for (std::size_t i = 0; i < run.size(); ++i) {
    const Sign sign = signs_[run.begin + i];
    const std::uint64_t bit = std::uint64_t{1} << i % kWordBits;
    std::uint64_t* const masks = run.masks.data() + i / kWordBits;
    if (sign < kBytes) {
      masks[sign * words] |= bit;
      continue;
    }
    const Set& set = sets_[sign - kBytes];
    for (std::size_t byte = 0; byte < kBytes; ++byte) {
      if (set[byte]) masks[byte * words] |= bit;
    }
  }
}

std::size_t GlobRuns::find_by_masks(Run& run, std::string_view text) const {
  if (run.masks.empty()) fill_masks(run);
  const std::size_t words = words_for(run.size());
  const std::size_t last = run.size() - 1;
  std::vector<std::uint64_t> state(words);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::uint64_t* const masks = run.masks.data() + code(text[i]) * words;
    for (std::size_t word = words - 1; word > 0; --word) {
      const std::uint64_t carry = state[word - 1] >> (kWordBits - 1);
      state[word] = (state[word] << 1 | carry) & masks[word];
    }
    state[0] = (state[0] << 1 | 1) & masks[0];
    if ((state[last / kWordBits] >> last % kWordBits & 1) != 0) return i - last;
  }
  return std::string_view::npos;
}

bool GlobRuns::matches(std::string_view text) {
  const Run& first = runs_.front();
  const Run& end = runs_.back();
  if (runs_.size() == 1) return text.size() == first.size() && is_at(first, text);
  if (text.size() < signs_.size()) return false;
  if (!is_at(first, text) || !is_at(end, text.substr(text.size() - end.size()))) return false;

  text = text.substr(first.size(), text.size() - first.size() - end.size());
  for (std::size_t i = 1; i + 1 < runs_.size(); ++i) {
    const std::size_t place = find(runs_[i], text);
    if (place == std::string_view::npos) return false;
    text.remove_prefix(place + runs_[i].size());
  }
  return true;
}

}  // namespace mayfly
