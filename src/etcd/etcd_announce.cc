// SPDX-License-Identifier: Apache-2.0
#include "etcd/etcd_announce.h"

#include <algorithm>
#include <utility>

#include "etcd/commit_outcome.h"
#include "etcd/gateway/replies.h"
#include "etcd/gateway/requests.h"

namespace mayfly {
namespace {

// After a failure: twice as long each time.
constexpr Millis kAnnouncePauseMin{500};
constexpr Millis kAnnouncePauseMax{5000};

}  // namespace

EtcdAnnounce::EtcdAnnounce(HttpLoop& loop, EtcdCalls& calls, const EtcdOptions& options)
    : loop_(loop), calls_(calls), options_(options), pause_(kAnnouncePauseMin) {}

void EtcdAnnounce::announce(std::string key, std::string value) {
  if (key != key_) has_read_ = false;
  key_ = std::move(key);
  value_ = std::move(value);
  if (state_ == State::working) {
    has_changed_ = true;
    return;
  }
  if (state_ == State::idle) loop_.after(options_.keepalive, [this] { keep_alive(); });
  work();
}

void EtcdAnnounce::work() {
  state_ = State::working;
  if (lease_ == 0) return grant();
  if (!has_read_) return read();
  put();
}

void EtcdAnnounce::grant() {
  calls_.call(
      kGrantPath, grant_request(options_.lease),
      [this](const EtcdReply& reply) {
        const Result<LeaseReply> lease =
            reply.body ? parse_lease_reply(*reply.body) : Result<LeaseReply>(reply.body.error());
        if (!lease) return again();
        lease_ = lease->id;
        work();
      },
      EtcdCalls::Pace::slow);
}

void EtcdAnnounce::read() {
  std::string request = range_request(options_.prefix, key_);
  calls_.call(
      kRangePath, std::move(request),
      [this, key = key_](const EtcdReply& reply) {
        const Result<RegisterSnapshot> found = reply.body
                                                   ? parse_range_reply(*reply.body, options_.prefix)
                                                   : Result<RegisterSnapshot>(reply.body.error());
        if (!found) return again();
        has_read_ = key == key_;
        version_ = found->entries.empty() ? 0 : found->entries.front().version;
        work();
      },
      EtcdCalls::Pace::slow);
}

void EtcdAnnounce::put() {
  has_changed_ = false;
  RegisterCommit commit{.compares = {{key_, version_}}, .puts = {{key_, value_}}};
  std::string request = txn_request(options_.prefix, commit, lease_);
  calls_.call(
      kTxnPath, std::move(request),
      [this, commit](const EtcdReply& reply) { on_put(reply, commit); }, EtcdCalls::Pace::slow);
}

void EtcdAnnounce::on_put(const EtcdReply& reply, const RegisterCommit& commit) {
  const CommitAnswer answer = commit_answer(reply, options_.prefix, commit);
  has_read_ = answer.outcome == CommitOutcome::done && commit.puts.front().key == key_;
  switch (answer.outcome) {
    case CommitOutcome::done:
      version_ = answer.version;
      state_ = State::there;
      pause_ = kAnnouncePauseMin;
      if (has_changed_) work();
      return;
    case CommitOutcome::refused:
      return work();
    case CommitOutcome::unknown:
      // It may be that the lease is gone: a new one costs little, and the old one ends by itself.
      if (answer.error.find("lease not found") != std::string::npos) lease_ = 0;
      return again();
  }
}

void EtcdAnnounce::again() {
  loop_.after(std::exchange(pause_, std::min(pause_ * 2, kAnnouncePauseMax)), [this] { work(); });
}

void EtcdAnnounce::keep_alive() {
  loop_.after(options_.keepalive, [this] { keep_alive(); });
  if (lease_ == 0) return;
  calls_.call(
      kKeepalivePath, lease_request(lease_),
      [this](const EtcdReply& reply) { on_kept_alive(reply); }, EtcdCalls::Pace::slow);
}

void EtcdAnnounce::on_kept_alive(const EtcdReply& reply) {
  if (!reply.body) return;  // the next one may do better
  const Result<LeaseReply> lease = parse_lease_reply(*reply.body);
  if (!lease || lease->ttl.count() > 0 || lease->id != lease_) return;
  lease_ = 0;
  has_read_ = false;
  if (state_ == State::there) work();
}

void EtcdAnnounce::on_snapshot(const RegisterSnapshot& snapshot) {
  if (state_ != State::there || snapshot.version < version_) return;
  const auto is_ours = [this](const RegisterEntry& entry) { return entry.key == key_; };
  if (std::any_of(snapshot.entries.begin(), snapshot.entries.end(), is_ours)) return;
  has_read_ = false;
  work();
}

}  // namespace mayfly
