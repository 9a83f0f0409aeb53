// SPDX-License-Identifier: Apache-2.0
#include "store/check/page_ledger.h"

#include <algorithm>
#include <array>
#include <utility>

namespace mayfly::internal {
namespace {

constexpr std::size_t kQuotedBytesMax = 40;

void append_number(std::string& text, std::uint64_t number, int base) {
  std::array<char, 20> digits;  // of UINT64_MAX
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, base).ptr;
  text.append(digits.data(), end);
}

}  // namespace

void append_text(std::string& text, std::string_view part) { text += part; }

void append_text(std::string& text, std::uint64_t part) { append_number(text, part, 10); }

void append_text(std::string& text, Hex part) {
  text += "0x";
  append_number(text, part.value, 16);
}

void append_text(std::string& text, Quoted part) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  text += part.quote;
  for (const char c : part.bytes.substr(0, kQuotedBytesMax)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != part.quote && c != '\\') {
      text += c;
    } else {
      text += "\\x";
      text += kDigits[byte / 16];
      text += kDigits[byte % 16];
    }
  }
  text += part.quote;
  if (part.bytes.size() > kQuotedBytesMax) text += "...";
}

PageLedger::PageLedger(Bytes file, std::uint32_t page_bytes, std::uint64_t last_page)
    : file_(file), page_bytes_(page_bytes), last_page_(last_page) {
  const std::uint64_t in_file = file.size() / page_bytes;
  used_.resize(in_file);
  free_.resize(in_file);
}

Bytes PageLedger::pages_at(std::uint64_t page, std::uint64_t count) const {
  return file_.subspan(page * page_bytes_, count * page_bytes_);
}

bool PageLedger::claim(std::uint64_t page, std::uint64_t count, std::string_view user) {
  if (page < kMetaPages) {
    problem("page ", page, ": expected a meta page, found a use by ", user);
    return false;
  }
  if (page > last_page_ || count > last_page_ - page + 1) {
    problem("page ", page, ": expected pages up to the last one, ", last_page_, "; found ", count,
            " used from here by ", user);
    return false;
  }
  if (page >= used_.size() || count > used_.size() - page) {
    problem("page ", page, ": expected in the file, which ends before page ", used_.size(),
            "; found ", count, " used from here by ", user);
    return false;
  }
  for (std::uint64_t i = page; i < page + count; ++i) {
    if (used_[i]) {
      problem("page ", i, ": expected one use, found a second one by ", user);
      return false;
    }
    used_[i] = true;
    ++used_count_;
  }
  return true;
}

void PageLedger::release(std::uint64_t page, std::uint64_t txnid) {
  if (page < kMetaPages || page > last_page_) {
    problem("free list of transaction ", txnid, ": expected pages ", kMetaPages, " to ", last_page_,
            ", found page ", page);
  } else if (page >= used_.size()) {
    free_beyond_.push_back(page);
  } else if (used_[page]) {
    problem("page ", page, ": expected used or free, found both, the latter in the free list of ",
            "transaction ", txnid);
  } else if (free_[page]) {
    problem("page ", page, ": expected in the free list once, found again in that of transaction ",
            txnid);
  } else {
    free_[page] = true;
    ++free_count_;
  }
}

PageCheck PageLedger::take() {
  std::ranges::sort(free_beyond_);
  const auto twice = std::ranges::adjacent_find(free_beyond_);
  if (twice != free_beyond_.end()) {
    problem("page ", *twice, ": expected in the free list once, found again");
  }
  free_beyond_.erase(std::unique(free_beyond_.begin(), free_beyond_.end()), free_beyond_.end());

  // The pages of the file that are counted here differ from each other and are at most last_page_.
  const std::uint64_t free_pages = free_count_ + free_beyond_.size();
  const std::uint64_t known = used_count_ + free_pages;
  return {.problems = std::exchange(problems_, {}),
          .pages = used_count_,
          .free_pages = free_pages,
          .unreferenced = last_page_ < known ? 0 : last_page_ - known + 1};
}

}  // namespace mayfly::internal
