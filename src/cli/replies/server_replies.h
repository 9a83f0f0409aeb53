// SPDX-License-Identifier: Apache-2.0
// Any bytes as the replies of a server to `mayfly import`, `top` and `cluster`: for the fuzzer
// (server_replies_fuzz.cc) and for tests.
//
//   run_server_replies("T$12\r\nused_memory:\r\n") == ""
//
// The first byte is the program: I, import from a server; J, import to one; T, top; C, cluster
// status. After the last byte the server closes the connection. What a person would see must have
// no control characters.

#pragma once

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/cluster/fake_cluster.h"
#include "cli/cluster/session/resp_nodes.h"
#include "cli/cluster/watch/older_view.h"
#include "cli/cluster/watch/picture_problems.h"
#include "cli/import/import_from_server.h"
#include "cli/import/import_to_server.h"
#include "cli/top/top_report.h"
#include "cli/top/top_sample.h"
#include "text/byte_text.h"

namespace mayfly {

// A client whose server has sent these bytes, and then closed its side.
class RepliedClient {
 public:
  explicit RepliedClient(std::string_view bytes) {
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
    near_ = Fd(ends[0]);
    far_ = Fd(ends[1]);
    const timeval patience = {.tv_sec = 0, .tv_usec = 20'000};  // the requests are not read
    (void)::setsockopt(near_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    (void)::send(far_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)::shutdown(far_.get(), SHUT_WR);
  }

  RespClient take() { return RespClient(std::move(near_)); }

 private:
  Fd near_;
  Fd far_;
};

// The defect of a text that a person sees; empty if it has none.
inline std::string wrong_text(std::string_view text) {
  const std::string escaped = escape_controls(text, "\n");
  return escaped == text ? "" : "it would print " + escaped;
}

inline std::string wrong_counts(const CopyCounts& counts) {
  for (const auto& [what, number] : counts.skipped) {
    if (std::string wrong = wrong_text(what); !wrong.empty()) return wrong;
  }
  return {};
}

inline std::string import_from(std::string_view bytes) {
  constexpr int kReads = 64;
  RepliedClient replied(bytes);
  const ManualClock clock{Time(Millis(1'700'000'000'000))};
  const auto source =
      ServerSource::open(replied.take(), {}, {.match = {}, .all_databases = true}, clock);
  if (!source) return wrong_text(source.error().message);
  CopyCounts counts;
  for (int i = 0; i < kReads && !(*source)->is_at_end(); ++i) {
    const Result<std::vector<CopyItem>> items = (*source)->read(counts);
    if (!items) return wrong_text(items.error().message);
  }
  const Result<std::vector<FunctionLibrary>> libraries = (*source)->libraries();
  if (!libraries) return wrong_text(libraries.error().message);
  return wrong_counts(counts);
}

inline std::string import_to(std::string_view bytes) {
  RepliedClient replied(bytes);
  const ManualClock clock{Time(Millis(1'700'000'000'000))};
  const auto target = ServerTarget::open(replied.take(), {}, {.keeps = true}, clock);
  if (!target) return wrong_text(target.error().message);
  CopyCounts counts;
  std::vector<CopyItem> items;
  for (const CopyType type : {CopyType::string, CopyType::hash, CopyType::set, CopyType::zset,
                              CopyType::list, CopyType::stream}) {
    CopyItem& item = items.emplace_back();
    item.type = type;
    item.key = fmt::format("key{}", items.size());
    item.value = "value";
    if (type != CopyType::string) item.members = {{"1", "1"}};
  }
  if (const Status status = (*target)->write(items, counts); !status) {
    return wrong_text(status.error().message);
  }
  const auto failures = (*target)->put_libraries({{"lib", "#!lua name=lib\n"}});
  if (!failures) return wrong_text(failures.error().message);
  for (const std::string& failure : *failures) {
    if (std::string wrong = wrong_text(failure); !wrong.empty()) return wrong;
  }
  if (const auto mark = (*target)->mark(); !mark) return wrong_text(mark.error().message);
  return wrong_counts(counts);
}

inline std::string top_of(std::string_view bytes) {
  RepliedClient replied(bytes);
  RespClient client = replied.take();
  std::unique_ptr<TopSample> before;
  TopHistory history;
  for (std::int64_t second = 1;; ++second) {
    Result<ReplyValue> reply = client.read();
    if (!reply) return wrong_text(reply.error().message);
    escape_texts(*reply);
    auto now = std::make_unique<TopSample>(TopSample{reply->text, second * 1'000'000'000});
    const TopView view = view_of(before.get(), *now, 1.7e9);
    history.add(view);
    for (const std::string& line : top_lines(view, history, "127.0.0.1:6379", 100)) {
      if (std::string wrong = wrong_text(line); !wrong.empty()) return wrong;
    }
    std::string wrong = wrong_text(top_json(view, "127.0.0.1:6379", Time(Millis(0))));
    if (!wrong.empty()) return wrong;
    before = std::move(now);
  }
}

// All nodes answer with the same bytes, one after the other.
class RepliedNodes final : public ClusterNodes {
 public:
  explicit RepliedNodes(std::string_view bytes) : replied_(bytes), client_(replied_.take()) {}

  Result<std::vector<ReplyValue>> call(const NodeAddress&, const std::vector<Request>& requests,
                                       Millis patience) override {
    const std::lock_guard lock(mutex_);
    return ask_node(client_, requests, patience);
  }

 private:
  RepliedClient replied_;
  std::mutex mutex_;
  RespClient client_;  // guarded by mutex_
};

inline std::string cluster_status_of(std::string_view bytes) {
  ManualClock clock{Time(Millis(1'700'000'000'000))};
  FakeClusterRecords records(clock);
  records.error = "etcd cannot be reached";
  RepliedNodes nodes(bytes);
  FakeTalk talk;
  ClusterSession session{records, nodes, talk, clock};
  MoveRates rates;
  const ClusterPicture picture = take_picture(session, {.node = "127.0.0.1:7000"}, nullptr, rates);
  std::string text = picture.error;
  for (const std::string& line : picture_lines(picture, Colours(false))) text += line + "\n";
  for (const ClusterProblem& problem : all_problems(picture))
    text += problem.what + problem.advice + "\n";
  return wrong_text(text + picture_json(picture));
}

inline std::string run_server_replies(std::string_view bytes) {
  if (bytes.empty()) return {};
  const std::string_view replies = bytes.substr(1);
  switch (bytes.front()) {
    case 'I':
      return import_from(replies);
    case 'J':
      return import_to(replies);
    case 'T':
      return top_of(replies);
    default:
      return cluster_status_of(replies);
  }
}

}  // namespace mayfly
