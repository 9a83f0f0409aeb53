// SPDX-License-Identifier: Apache-2.0
// EtcdWorker: the side of a register that lives in its own thread. It answers questions by asking
// etcd, and keeps the watch and the announcement going.
//
// Threads: one, but for stop() and wake().

#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/register.h"
#include "etcd/etcd_announce.h"
#include "etcd/etcd_calls.h"
#include "etcd/etcd_meter.h"
#include "etcd/etcd_options.h"
#include "etcd/etcd_watch.h"
#include "etcd/http/http_loop.h"

namespace mayfly {

class EtcdWorker {
 public:
  // What the owner gets. They are called in the worker's thread.
  struct Answers {
    std::function<void(std::uint64_t id, Result<RegisterSnapshot>)> on_read;
    std::function<void(std::uint64_t id, CommitAnswer)> on_commit;
    std::function<void(std::vector<RegisterEntry>)> on_change;
  };

  // All of them must outlive it.
  EtcdWorker(const CurlLibrary& curl, const EtcdOptions& options, EtcdMeter& meter,
             Answers answers);

  // Calls `take_questions` at first and after every wake(), until stop(). At the end it revokes the
  // lease of the announcement, if etcd is quick to answer.
  void run(const std::function<void()>& take_questions);

  void wake() { loop_.wake(); }
  void stop();

  // Questions, to be asked from within `take_questions`.
  void read(std::uint64_t id);
  void commit(std::uint64_t id, RegisterCommit commit);
  void watch();
  void announce(std::string key, std::string value);
  void trust(const RegisterPoint& point) { calls_.trust(point); }
  void distrust(std::string why) { calls_.distrust(std::move(why)); }

 private:
  bool take_unknown(const std::string& request);
  void say_goodbye();

  const EtcdOptions& options_;
  EtcdMeter& meter_;
  const Answers answers_;
  HttpLoop loop_;
  EtcdCalls calls_;
  EtcdWatch watch_;
  EtcdAnnounce announce_;
  bool is_watching_ = false;
  std::atomic<bool> is_stopping_{false};
  // Transactions whose outcome is not known, the last ones. If one is asked for again, it may have
  // been carried out already.
  std::deque<std::string> unknown_;
};

}  // namespace mayfly
