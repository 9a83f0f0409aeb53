// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/session/cluster_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "cluster/plan/cluster_problems.h"

namespace mayfly {
namespace {

constexpr int kChangeAttempts = 5;
constexpr Millis kWaitLook{100};
// A member of etcd that restarts, or an election, takes a second or two.
constexpr Millis kPatience{5000};
constexpr Millis kAskAgain{200};

std::optional<RegisterEntry> find_in(const std::vector<RegisterEntry>& current,
                                     const std::string& key) {
  const auto found = std::ranges::find(current, key, &RegisterEntry::key);
  if (found == current.end() || !found->value) return std::nullopt;
  return *found;
}

// Whether a commit that is refused now has happened before, at an attempt whose answer was lost:
// one of its records is there as it was put, and all others have been written with it or since. The
// config says nothing if it was there before: every change of slots puts it again as it was.
bool has_happened(const RegisterCommit& commit, const std::vector<RegisterEntry>& current) {
  std::uint64_t since = UINT64_MAX;
  bool is_gone = false;
  for (const RegisterCommit::Put& put : commit.puts) {
    const auto compare = std::ranges::find(commit.compares, put.key, &RegisterCommit::Compare::key);
    const std::uint64_t before = compare == commit.compares.end() ? 0 : compare->version;
    if (put.key == kConfigKey && before != 0) continue;
    const auto entry = find_in(current, put.key);
    if (entry && entry->version <= before) return false;
    if (entry && entry->value == put.value) since = std::min(since, entry->version);
    if (!entry && put.value) return false;
    is_gone = is_gone || (!entry && before != 0);
  }
  if (since == UINT64_MAX) return is_gone;
  return std::ranges::all_of(commit.puts, [&](const RegisterCommit::Put& put) {
    const auto entry = find_in(current, put.key);
    return !entry || entry->version >= since;
  });
}

// Time for etcd to come back, unless it is over.
bool may_ask_again(ClusterSession& session, Time end) {
  if (session.clock.now() >= end || session.talk.is_stopped()) return false;
  session.records.wait_change(kAskAgain);
  return true;
}

}  // namespace

std::string NodeAddress::text() const {
  return host.find(':') == host.npos ? fmt::format("{}:{}", host, port)
                                     : fmt::format("[{}]:{}", host, port);
}

Result<NodeAddress> parse_node_address(std::string_view text) {
  const Error wrong{Code::invalid,
                    fmt::format("'{}' is no address of a node (say HOST:PORT)", text)};
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos || colon == 0) return wrong;
  std::string_view host = text.substr(0, colon);
  if (host.front() == '[') {
    if (host.back() != ']' || host.size() < 3) return wrong;
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != host.npos) {
    return wrong;
  }
  NodeAddress address{std::string(host), 0};
  const std::string_view port = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size() || address.port < 1 ||
      address.port > 65'535) {
    return wrong;
  }
  return address;
}

Result<ClusterView> read_view_once(ClusterSession& session) {
  const Result<RegisterSnapshot> snapshot = session.records.read();
  if (!snapshot) return snapshot.error();
  return ClusterView::parse(*snapshot);
}

Result<ClusterView> read_view(ClusterSession& session) {
  const Time end = session.clock.now() + kPatience;
  Result<ClusterView> view = read_view_once(session);
  while (!view && view.error().code == Code::io && may_ask_again(session, end)) {
    view = read_view_once(session);
  }
  return view;
}

Result<ClusterView> read_cluster(ClusterSession& session) {
  Result<ClusterView> view = read_view(session);
  if (!view || view->config()) return view;
  return Error{Code::not_found,
               fmt::format("there is no cluster '{}' in this etcd (make one with: mayfly cluster "
                           "init HOST:PORT ..., or name another with --name)",
                           session.name)};
}

Status commit_once(ClusterSession& session, const RegisterCommit& commit) {
  const Time end = session.clock.now() + kPatience;
  CommitAnswer answer;
  do {
    answer = session.records.commit(commit);
    if (answer.outcome == CommitOutcome::done) return Done{};
    if (answer.outcome == CommitOutcome::refused) {
      if (has_happened(commit, answer.current)) return Done{};
      return Error{Code::busy, "the records have changed meanwhile: try again"};
    }
  } while (may_ask_again(session, end));
  const Result<RegisterSnapshot> now = session.records.read();
  if (now && has_happened(commit, now->entries)) return Done{};
  return Error{Code::io, fmt::format("etcd does not answer, so it is not known whether the change "
                                     "was made: {} (look at it with: mayfly cluster status)",
                                     answer.error)};
}

Status change_records(ClusterSession& session, const MakeCommit& make) {
  Status done = Error{Code::busy, ""};
  for (int attempt = 0; attempt < kChangeAttempts; ++attempt) {
    const Result<ClusterView> view = read_view(session);
    if (!view) return view.error();
    const auto commit = make(*view);
    if (!commit) return commit.error();
    if (!commit->has_value()) return Done{};
    done = commit_once(session, **commit);
    if (done || done.error().code != Code::busy) return done;
  }
  return done;
}

void compare(RegisterCommit& commit, const ClusterView& view, const std::string& key) {
  commit.compares.push_back({key, view.version_of(key)});
}

void replace(RegisterCommit& commit, const ClusterView& view, const std::string& key,
             std::optional<std::string> text) {
  compare(commit, view, key);
  commit.puts.push_back({key, std::move(text)});
}

void serialise(RegisterCommit& commit, const ClusterView& view) {
  if (view.config()) {
    replace(commit, view, std::string(kConfigKey), to_text(view.config()->record));
  }
}

bool wait_until(ClusterSession& session, Millis longest, const std::function<bool()>& is_done) {
  const Time end = session.clock.now() + longest;
  while (!is_done()) {
    if (session.clock.now() >= end || session.talk.is_stopped()) return false;
    session.records.wait_change(kWaitLook);
  }
  return true;
}

Status ask(ClusterSession& session, std::string_view question) {
  if (session.is_sure || session.talk.confirm(question)) return Done{};
  return Error{Code::denied, "nothing was changed (--yes does not ask)"};
}

Result<std::string> find_node(const ClusterView& view, std::string_view words) {
  std::vector<std::string> found;
  std::string all;
  for (const auto& [id, node] : view.nodes()) {
    const NodeAddress address{node.record.host, node.record.port};
    const std::string label = node_label(view, id);
    if (id == words) return id;
    if (words == address.text() || words == label || (words.size() >= 4 && id.starts_with(words))) {
      found.push_back(id);
    }
    all += (all.empty() ? "" : ", ") + label;
  }
  if (found.size() == 1) return found.front();
  if (!found.empty()) {
    return Error{Code::invalid, fmt::format("'{}' may be one of several nodes (say its id: {})",
                                            words, fmt::join(found, ", "))};
  }
  return Error{Code::not_found,
               fmt::format("'{}' is no node of the cluster (there {} {})", words,
                           all.empty() ? "is" : "are", all.empty() ? "none" : all)};
}

Result<const ClusterShard*> find_shard(const ClusterView& view, std::string_view id) {
  if (const ClusterShard* const shard = view.shard(id)) return shard;
  std::vector<std::string_view> all;
  for (const ClusterShard& shard : view.shards()) all.push_back(shard.id);
  return Error{Code::not_found, fmt::format("'{}' is no shard of the cluster (there are {})", id,
                                            fmt::join(all, ", "))};
}

Result<NodeAddress> address_of(const ClusterView& view, std::string_view node) {
  if (const NodeRecord* const record = view.node(node)) {
    return NodeAddress{record->host, record->port};
  }
  return Error{Code::not_found, fmt::format("node {} has no record", node)};
}

std::string plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace mayfly
