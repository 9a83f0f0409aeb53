// SPDX-License-Identifier: Apache-2.0
// The check of one tree of an LMDB file.

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "store/check/page_ledger.h"

namespace mayfly::internal {
namespace {

// A node whose bytes are within its page. Decoded once, so that checks and uses see the same.
struct Node {
  std::size_t begin;  // in the page
  std::size_t end;    // even, as the next node begins here
  NodeHeader header;
  std::string_view key;
};

// The keys of a page, from the separators above it: low <= key < high.
struct KeyRange {
  std::optional<std::string_view> low;
  std::optional<std::string_view> high;
};

class TreeWalk {
 public:
  TreeWalk(PageLedger& ledger, TreeKind kind, std::string_view name, const TreeRecord& record)
      : ledger_(ledger), kind_(kind), name_(name), record_(record) {}

  std::vector<TreeEntry> run();

 private:
  // Each returns false, after a problem was added, if its subject cannot be checked further.
  bool record_is_sound();
  bool header_is_sound(std::uint64_t number, const PageHeader& header, bool branch);
  bool read_nodes(std::uint64_t number, Bytes page, const PageHeader& header, bool branch);
  bool nodes_fill_the_page(std::uint64_t number, const PageHeader& header);
  bool keys_are_sound(std::uint64_t number, const std::vector<Node>& nodes, bool branch,
                      const KeyRange& range);

  void visit(std::uint64_t number, std::uint16_t depth, const KeyRange& range);
  void visit_value(std::uint64_t number, Bytes page, const Node& node);
  std::optional<Bytes> large_value(std::uint64_t number, Bytes page, const Node& node);
  void compare_counts();

  bool less(std::string_view a, std::string_view b) const;

  template <class... Parts>
  bool wrong(std::uint64_t page, const Parts&... parts) {
    ledger_.problem("page ", page, " of ", name_, ": ", parts...);
    return false;
  }

  PageLedger& ledger_;
  TreeKind kind_;
  std::string_view name_;
  const TreeRecord record_;
  std::vector<Node> nodes_;                                 // of the page that is being visited
  std::vector<std::pair<std::size_t, std::size_t>> parts_;  // where its nodes are
  std::vector<TreeEntry> entries_;
  TreeRecord found_{};  // the counts
};

std::vector<TreeEntry> TreeWalk::run() {
  if (!record_is_sound() || record_.depth == 0) return {};
  const std::uint64_t problems_before = ledger_.problem_count();
  visit(record_.root, 1, {});
  if (ledger_.problem_count() == problems_before) compare_counts();
  return std::move(entries_);
}

bool TreeWalk::record_is_sound() {
  // What our trees have. The free tree keeps the flags of the environment, too.
  const std::uint16_t allowed = kind_ == TreeKind::free ? kFixedMap | kNoSubdirectory : 0;
  const std::uint16_t required = kind_ == TreeKind::free ? kIntegerKeys : 0;
  if ((record_.flags & ~allowed) != required) {
    ledger_.problem("record of ", name_, ": expected flags ", Hex{required}, ", found ",
                    Hex{record_.flags});
    return false;
  }
  if (record_.depth > kTreeDepthMax) {
    ledger_.problem("record of ", name_, ": expected a depth of at most ",
                    std::uint64_t{kTreeDepthMax}, ", found ", std::uint64_t{record_.depth});
    return false;
  }
  if ((record_.depth == 0) != (record_.root == kNoPage)) {
    ledger_.problem("record of ", name_, ": expected no root if and only if the depth is 0, found ",
                    "root ", Hex{record_.root}, " and depth ", std::uint64_t{record_.depth});
    return false;
  }
  if (record_.depth == 0) compare_counts();
  return true;
}

// Recurses once for each level; the depth of the record is at most kTreeDepthMax.
void TreeWalk::visit(std::uint64_t number, std::uint16_t depth, const KeyRange& range) {
  if (!ledger_.claim(number, 1, name_)) return;
  const Bytes page = ledger_.pages_at(number, 1);
  const PageHeader header = read_page_header(page);
  const bool branch = depth < record_.depth;
  if (!header_is_sound(number, header, branch)) return;
  if (!read_nodes(number, page, header, branch)) return;
  if (!nodes_fill_the_page(number, header)) return;
  if (!keys_are_sound(number, nodes_, branch, range)) return;

  if (!branch) {
    ++found_.leaf_pages;
    found_.entries += nodes_.size();
    for (const Node& node : nodes_) visit_value(number, page, node);
    return;
  }
  ++found_.branch_pages;
  const std::vector<Node> nodes = std::exchange(nodes_, {});
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    KeyRange below = range;
    if (i > 0) below.low = nodes[i].key;
    if (i + 1 < nodes.size()) below.high = nodes[i + 1].key;
    visit(nodes[i].header.child, static_cast<std::uint16_t>(depth + 1), below);
  }
}

bool TreeWalk::header_is_sound(std::uint64_t number, const PageHeader& header, bool branch) {
  if (header.number != number) {
    return wrong(number, "expected its own number, found ", header.number);
  }
  const std::uint16_t flags = branch ? kBranchPage : kLeafPage;
  if (header.flags != flags) {
    return wrong(number, "expected the flags ", Hex{flags}, branch ? " of a branch" : " of a leaf",
                 " at this depth, found ", Hex{header.flags});
  }
  if (header.lower < kPageHeaderBytes || header.lower % 2 != 0 || header.lower > header.upper ||
      header.upper > ledger_.page_bytes()) {
    return wrong(number, "expected ", kPageHeaderBytes,
                 " <= lower <= upper <= ", std::uint64_t{ledger_.page_bytes()},
                 " and an even lower, found lower ", std::uint64_t{header.lower}, " and upper ",
                 std::uint64_t{header.upper});
  }
  // LMDB asserts that a branch has two nodes, but for the free tree, which it rebalances late.
  const std::size_t count = (header.lower - kPageHeaderBytes) / 2;
  const std::size_t count_min = branch && kind_ != TreeKind::free ? 2 : 1;
  if (count < count_min) return wrong(number, "expected nodes: ", count_min, ", found ", count);
  return true;
}

bool TreeWalk::read_nodes(std::uint64_t number, Bytes page, const PageHeader& header, bool branch) {
  nodes_.clear();
  for (std::size_t at = kPageHeaderBytes; at < header.lower; at += 2) {
    const std::uint64_t index = (at - kPageHeaderBytes) / 2;
    const std::size_t begin = load<std::uint16_t>(page, at);
    if (begin < header.upper || begin + kNodeHeaderBytes > page.size()) {
      return wrong(number, "expected node ", index, " between ", std::uint64_t{header.upper},
                   " and ", page.size(), ", found it at ", begin);
    }
    const NodeHeader node = read_node_header(page, begin);
    const std::size_t key_end = begin + kNodeHeaderBytes + node.key_bytes;
    const bool large = (node.flags & kLargeValue) != 0;
    const std::size_t value_bytes = branch  ? 0
                                    : large ? sizeof(std::uint64_t)
                                            : std::size_t{node.value_bytes};
    const std::size_t end = (key_end + value_bytes + 1) & ~std::size_t{1};
    if (end > page.size()) {
      return wrong(number, "expected node ", index, " to end by ", page.size(),
                   ", found its end at ", end);
    }
    nodes_.push_back({.begin = begin,
                      .end = end,
                      .header = node,
                      .key = text_at(page, begin + kNodeHeaderBytes, node.key_bytes)});
  }
  return true;
}

// LMDB closes each gap at once, so that the nodes lie side by side. This finds sizes that changed.
bool TreeWalk::nodes_fill_the_page(std::uint64_t number, const PageHeader& header) {
  parts_.clear();
  for (const Node& node : nodes_) parts_.emplace_back(node.begin, node.end);
  std::ranges::sort(parts_);
  std::size_t expected = header.upper;
  for (const auto& [begin, end] : parts_) {
    if (begin != expected) {
      return wrong(number, "expected a node at ", expected,
                   ", where the one before it ends; found ", "one at ", begin);
    }
    expected = end;
  }
  if (expected != ledger_.page_bytes()) {
    return wrong(number, "expected the nodes to end with the page, found their end at ", expected);
  }
  return true;
}

bool TreeWalk::keys_are_sound(std::uint64_t number, const std::vector<Node>& nodes, bool branch,
                              const KeyRange& range) {
  // The first key of a branch stands for all that is less than the second; its bytes mean nothing.
  const std::size_t first = branch ? 1 : 0;
  for (std::size_t i = first; i < nodes.size(); ++i) {
    const std::string_view key = nodes[i].key;
    if (kind_ == TreeKind::free && key.size() != sizeof(std::uint64_t)) {
      return wrong(number, "expected an integer of 8 bytes as key ", i, ", found ", key.size());
    }
    if (key.empty() || key.size() > kKeyBytesMax) {
      return wrong(number, "expected 1 to ", kKeyBytesMax, " bytes as key ", i, ", found ",
                   key.size());
    }
    if (i > first && !less(nodes[i - 1].key, key)) {
      return wrong(number, "expected key ", i, " above ", Quoted{nodes[i - 1].key}, ", found ",
                   Quoted{key});
    }
  }
  if (nodes.size() <= first) return true;  // a branch of one node
  if (range.low && less(nodes[first].key, *range.low)) {
    return wrong(number, "expected no key below the separator ", Quoted{*range.low}, ", found ",
                 Quoted{nodes[first].key});
  }
  if (range.high && !less(nodes.back().key, *range.high)) {
    return wrong(number, "expected all keys below the separator ", Quoted{*range.high}, ", found ",
                 Quoted{nodes.back().key});
  }
  return true;
}

void TreeWalk::visit_value(std::uint64_t number, Bytes page, const Node& node) {
  const std::uint16_t flags = node.header.flags;
  const bool tree = flags == kTreeValue && kind_ == TreeKind::main;
  if (flags != 0 && flags != kLargeValue && !tree) {
    wrong(number, "expected flags that our trees have at key ", Quoted{node.key}, ", found ",
          Hex{flags}, (flags & kDuplicateValue) != 0 ? " (several values)" : "");
    return;
  }
  if (tree && node.header.value_bytes != kTreeRecordBytes) {
    wrong(number, "expected ", kTreeRecordBytes, " bytes of the record of the tree ",
          Quoted{node.key}, ", found ", std::uint64_t{node.header.value_bytes});
    return;
  }
  std::optional<Bytes> value;
  if (flags == kLargeValue) {
    value = large_value(number, page, node);
  } else {
    value = page.subspan(node.begin + kNodeHeaderBytes + node.key.size(), node.header.value_bytes);
  }
  const bool kept = tree || kind_ == TreeKind::free;
  if (kept && value) entries_.push_back({.page = number, .key = node.key, .value = *value});
}

// An overflow page may have more pages than its value needs: LMDB keeps them if a value shrinks in
// the transaction that wrote it.
std::optional<Bytes> TreeWalk::large_value(std::uint64_t number, Bytes page, const Node& node) {
  const auto first = load<std::uint64_t>(page, node.begin + kNodeHeaderBytes + node.key.size());
  if (!ledger_.claim(first, 1, name_)) return {};
  const PageHeader header = read_page_header(ledger_.pages_at(first, 1));
  if (header.number != first) {
    wrong(first, "expected its own number, found ", header.number);
    return {};
  }
  if (header.flags != kOverflowPage) {
    wrong(first, "expected the flags ", Hex{kOverflowPage}, " of an overflow page, found ",
          Hex{header.flags});
    return {};
  }
  const std::uint64_t count = header.overflow_pages;
  const std::uint64_t needed = overflow_pages_for(node.header.value_bytes, ledger_.page_bytes());
  if (count < needed) {
    wrong(first, "expected overflow pages for the ", std::uint64_t{node.header.value_bytes},
          " bytes of key ", Quoted{node.key}, " in page ", number, ": ", needed, ", found ", count);
    return {};
  }
  if (count > 1 && !ledger_.claim(first + 1, count - 1, name_)) return {};
  found_.overflow_pages += count;
  return ledger_.pages_at(first, needed).subspan(kPageHeaderBytes, node.header.value_bytes);
}

void TreeWalk::compare_counts() {
  const auto compare = [this](std::string_view what, std::uint64_t recorded, std::uint64_t found) {
    if (recorded == found) return;
    ledger_.problem("record of ", name_, ": expected ", found, " ", what, ", as its pages have; ",
                    "found ", recorded);
  };
  compare("branch pages", record_.branch_pages, found_.branch_pages);
  compare("leaf pages", record_.leaf_pages, found_.leaf_pages);
  compare("overflow pages", record_.overflow_pages, found_.overflow_pages);
  compare("entries", record_.entries, found_.entries);
}

bool TreeWalk::less(std::string_view a, std::string_view b) const {
  if (kind_ != TreeKind::free) return a < b;  // as memcmp does
  std::uint64_t left = 0;
  std::uint64_t right = 0;
  std::memcpy(&left, a.data(), sizeof left);
  std::memcpy(&right, b.data(), sizeof right);
  return left < right;
}

}  // namespace

std::vector<TreeEntry> check_tree(PageLedger& ledger, TreeKind kind, std::string_view name,
                                  const TreeRecord& record) {
  return TreeWalk(ledger, kind, name, record).run();
}

}  // namespace mayfly::internal
