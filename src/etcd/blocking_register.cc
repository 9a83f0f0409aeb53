// SPDX-License-Identifier: Apache-2.0
#include "etcd/blocking_register.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "etcd/etcd_register.h"
#include "mayfly/clock.h"

namespace mayfly {
namespace {

constexpr Millis kLongestNap{60'000};

}  // namespace

Result<std::unique_ptr<BlockingRegister>> BlockingRegister::open(const EtcdOptions& options) {
  std::unique_ptr<BlockingRegister> blocking(new BlockingRegister);
  BlockingRegister* const bell = blocking.get();
  Result<std::unique_ptr<Register>> opened = open_etcd_register(options, [bell] {
    const std::lock_guard lock(bell->mutex_);
    bell->has_rung_ = true;
    bell->rung_.notify_one();
  });
  if (!opened) return opened.error();
  blocking->register_ = *std::move(opened);
  return blocking;
}

Result<RegisterSnapshot> BlockingRegister::read() {
  std::optional<RegisterSnapshot> found;
  std::optional<Error> error;
  register_->read([&](const Result<RegisterSnapshot>& snapshot) {
    if (snapshot) {
      found = *snapshot;
    } else {
      error = snapshot.error();
    }
  });
  wait_until([&] { return found || error; });
  if (error) return *std::move(error);
  version_ = found->version;
  has_changed_ = false;
  return *std::move(found);
}

CommitAnswer BlockingRegister::commit(RegisterCommit commit) {
  std::optional<CommitAnswer> answer;
  register_->commit(std::move(commit), [&](const CommitAnswer& given) { answer = given; });
  wait_until([&] { return answer.has_value(); });
  return *std::move(answer);
}

bool BlockingRegister::wait_change(Millis timeout) {
  if (!std::exchange(is_watching_, true)) {
    register_->watch([this](const std::vector<RegisterEntry>& entries) {
      const auto is_new = [this](const RegisterEntry& entry) { return entry.version > version_; };
      has_changed_ |= std::any_of(entries.begin(), entries.end(), is_new);
    });
  }
  const SteadyClock clock;
  const Time deadline = deadline_after(clock.now(), timeout);
  while (!has_changed_ && !is_due(deadline, clock.now())) {
    if (take_bell(remaining(deadline, clock.now()))) register_->deliver();
  }
  return std::exchange(has_changed_, false);
}

void BlockingRegister::wait_until(const std::function<bool()>& is_over) {
  while (!is_over()) {
    if (take_bell(kLongestNap)) register_->deliver();
  }
}

bool BlockingRegister::take_bell(Millis timeout) {
  std::unique_lock lock(mutex_);
  rung_.wait_for(lock, std::min(timeout, kLongestNap), [this] { return has_rung_; });
  return std::exchange(has_rung_, false);
}

}  // namespace mayfly
