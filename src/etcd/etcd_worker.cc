// SPDX-License-Identifier: Apache-2.0
#include "etcd/etcd_worker.h"

#include <algorithm>
#include <utility>

#include "etcd/commit_outcome.h"
#include "etcd/gateway/replies.h"
#include "etcd/gateway/requests.h"

namespace mayfly {
namespace {

constexpr std::size_t kUnknownMax = 64;

}  // namespace

EtcdWorker::EtcdWorker(const CurlLibrary& curl, const EtcdOptions& options, EtcdMeter& meter,
                       Answers answers)
    : options_(options),
      meter_(meter),
      answers_(std::move(answers)),
      loop_(curl, {options.ca, options.cert, options.key}),
      calls_(loop_, options_, meter_),
      watch_(loop_, calls_, options_, meter_, answers_.on_change),
      announce_(loop_, calls_, options_) {
  calls_.on_silence([this](std::size_t endpoint) { watch_.on_silence(endpoint); });
}

void EtcdWorker::run(const std::function<void()>& take_questions) {
  while (!is_stopping_.load()) {
    take_questions();
    loop_.run_once();
  }
  say_goodbye();
}

void EtcdWorker::stop() {
  is_stopping_.store(true);
  loop_.wake();
}

void EtcdWorker::read(std::uint64_t id) {
  calls_.call(kRangePath, range_request(options_.prefix), [this, id](const EtcdReply& reply) {
    Result<RegisterSnapshot> snapshot = reply.body ? parse_range_reply(*reply.body, options_.prefix)
                                                   : Result<RegisterSnapshot>(reply.body.error());
    if (snapshot) announce_.on_snapshot(*snapshot);
    answers_.on_read(id, std::move(snapshot));
  });
}

void EtcdWorker::commit(std::uint64_t id, RegisterCommit commit) {
  std::string request = txn_request(options_.prefix, commit);
  const bool was_unknown = take_unknown(request);
  const auto on_reply = [this, id, request, was_unknown,
                         commit = std::move(commit)](const EtcdReply& reply) {
    const EtcdReply judged{reply.body, reply.was_repeated || was_unknown};
    CommitAnswer answer = commit_answer(judged, options_.prefix, commit);
    const bool may_have_happened = judged.was_repeated || reply.body.ok();
    if (answer.outcome == CommitOutcome::unknown) meter_.add_unknown();
    if (answer.outcome == CommitOutcome::unknown && may_have_happened) {
      unknown_.push_back(request);
      if (unknown_.size() > kUnknownMax) unknown_.pop_front();
    }
    answers_.on_commit(id, std::move(answer));
  };
  calls_.call(kTxnPath, request, on_reply,
              was_unknown ? EtcdCalls::Pace::slow : EtcdCalls::Pace::normal);
}

bool EtcdWorker::take_unknown(const std::string& request) {
  const auto found = std::find(unknown_.begin(), unknown_.end(), request);
  if (found == unknown_.end()) return false;
  unknown_.erase(found);
  return true;
}

void EtcdWorker::watch() {
  if (!std::exchange(is_watching_, true)) watch_.start();
}

void EtcdWorker::announce(std::string key, std::string value) {
  announce_.announce(std::move(key), std::move(value));
}

void EtcdWorker::say_goodbye() {
  loop_.cancel_all();
  if (announce_.lease() == 0) return;
  bool is_over = false;
  HttpCall request{.url = std::string(calls_.url(calls_.endpoint())).append(kRevokePath),
                   .body = lease_request(announce_.lease()),
                   .headers = calls_.headers(),
                   .timeout = options_.goodbye};
  loop_.post(std::move(request), [&](const HttpReply&) { is_over = true; });
  while (!is_over) loop_.run_once();
}

}  // namespace mayfly
