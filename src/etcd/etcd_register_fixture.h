// SPDX-License-Identifier: Apache-2.0
// A register over members of etcd that do as the test says. All members share one EtcdModel; what
// goes wrong is decided for each request.

#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "etcd/etcd_model_fixture.h"
#include "etcd/etcd_register.h"
#include "etcd/scripted_http_fixture.h"
#include "mayfly/time.h"

namespace mayfly {

enum class Fault {
  none,
  lose_request,  // the connection ends before the request is carried out
  lose_answer,   // after it
  hang,          // neither carried out nor answered
  hang_after,    // carried out, never answered
  error_before,  // HTTP 503
  error_after,
};

class EtcdFixture {
 public:
  // What goes wrong with a request; called in the threads of the members, one at a time.
  using Faults = std::function<Fault(std::size_t member, const ScriptedRequest& request)>;

  explicit EtcdFixture(std::size_t members = 1) {
    options.prefix = "/m/";
    // Nothing is repeated since the machine is busy. A test in which a member hangs says how long.
    options.call_timeout = Millis(30'000);
    options.give_up_after = Millis(60'000);
    options.retry_pause = Millis(5);
    options.watch_pause_min = Millis(1);
    options.watch_pause_max = Millis(5);
    for (std::size_t member = 0; member < members; ++member) {
      servers.push_back(std::make_unique<ScriptedHttp>(
          [this, member](const ScriptedRequest& request) { return answer(member, request); }));
      options.endpoints.push_back(servers.back()->url());
    }
  }

  ~EtcdFixture() { records.reset(); }

  void open() {
    records = *open_etcd_register(options, [this] { ring(); });
  }

  // Delivers answers until it is so. `is_over` is asked again after every request and answer.
  void wait_until(const std::function<bool()>& is_over) {
    while (!is_over()) {
      {
        std::unique_lock lock(mutex_);
        rung_.wait(lock, [this] { return std::exchange(has_rung_, false); });
      }
      if (records != nullptr) records->deliver();
    }
  }

  Result<RegisterSnapshot> read() {
    std::optional<Result<RegisterSnapshot>> answer;
    records->read([&](const Result<RegisterSnapshot>& snapshot) { answer = snapshot; });
    wait_until([&] { return answer.has_value(); });
    return *std::move(answer);
  }

  CommitAnswer commit(RegisterCommit commit) {
    std::optional<CommitAnswer> answer;
    records->commit(std::move(commit), [&](const CommitAnswer& given) { answer = given; });
    wait_until([&] { return answer.has_value(); });
    return *std::move(answer);
  }

  void set_faults(Faults faults) {
    const std::lock_guard lock(mutex_);
    faults_ = std::move(faults);
  }

  // Requests of that path so far.
  std::vector<ScriptedRequest> requests(std::string_view path) const {
    const std::lock_guard lock(mutex_);
    std::vector<ScriptedRequest> found;
    for (const ScriptedRequest& request : requests_) {
      if (request.path == path) found.push_back(request);
    }
    return found;
  }

  std::optional<std::string> value(const std::string& key) const {
    const auto all = model.records();
    const auto found = all.find(options.prefix + key);
    if (found == all.end()) return std::nullopt;
    return found->second.value;
  }

  EtcdOptions options;
  EtcdModel model;
  std::vector<std::unique_ptr<ScriptedHttp>> servers;
  std::unique_ptr<Register> records;

 private:
  ScriptedReply answer(std::size_t member, const ScriptedRequest& request) {
    Fault fault = Fault::none;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
      if (faults_) fault = faults_(member, request);
    }
    const ScriptedReply reply = faulty(fault, request);
    ring();
    return reply;
  }

  ScriptedReply faulty(Fault fault, const ScriptedRequest& request) {
    using Kind = ScriptedReply::Kind;
    const bool is_done = fault == Fault::none || fault == Fault::lose_answer ||
                         fault == Fault::hang_after || fault == Fault::error_after;
    ScriptedReply reply;
    if (is_done) reply = model.answer(request);
    switch (fault) {
      case Fault::none:
        return reply;
      case Fault::lose_request:
      case Fault::lose_answer:
        return {.kind = Kind::close};
      case Fault::hang:
      case Fault::hang_after:
        return {.kind = Kind::hang};
      case Fault::error_before:
      case Fault::error_after:
        break;
    }
    return {.status = 503,
            .body = R"({"error":"etcdserver: request timed out",)"
                    R"("message":"etcdserver: request timed out","code":14})"};
  }

  void ring() {
    const std::lock_guard lock(mutex_);
    has_rung_ = true;
    rung_.notify_one();
  }

  mutable std::mutex mutex_;
  std::condition_variable rung_;
  // Guarded by mutex_.
  bool has_rung_ = false;
  Faults faults_;
  std::vector<ScriptedRequest> requests_;
};

// A fault for the first `count` requests of that path.
inline EtcdFixture::Faults first(std::size_t count, std::string_view path, Fault fault) {
  return [count, path, fault](std::size_t, const ScriptedRequest& request) mutable {
    if (count == 0 || request.path != path) return Fault::none;
    --count;
    return fault;
  };
}

}  // namespace mayfly
