// SPDX-License-Identifier: Apache-2.0
// Loading: reads a whole data set into the keyspace in slices, so that clients get an error
// meanwhile (LOADING), and INFO shows how long it will take.
//
//   loading.begin(std::make_unique<RdbTask>(...), now, [](const Status& status) {...});
//   loading.slice();         // in every turn, until is_active() is false

#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "mayfly/result.h"
#include "mayfly/time.h"
#include "persist/disk/byte_sink.h"
#include "persist/rdb/rdb_loader.h"
#include "persist/rdb/verify/rdb_verify.h"

namespace mayfly {

struct Config;

// What the configuration says about the checks of files and payloads.
RdbChecks rdb_checks(const Config& config);

class LoadTask {
 public:
  virtual ~LoadTask() = default;
  virtual Result<bool> step(std::size_t count) = 0;  // true: all is loaded
  virtual std::uint64_t offset() const = 0;
  virtual std::uint64_t total() const = 0;  // 0: not known
};

class RdbTask final : public LoadTask {
 public:
  RdbTask(std::unique_ptr<ByteSource> source, Keyspace& keyspace, const RdbLoadOptions& options)
      : source_(std::move(source)), loader_(*source_, keyspace, options) {}

  Result<bool> step(std::size_t count) override { return loader_.step(count); }
  std::uint64_t offset() const override { return loader_.offset(); }
  std::uint64_t total() const override { return source_->size(); }
  const RdbReport& report() const { return loader_.report(); }

 private:
  std::unique_ptr<ByteSource> source_;
  RdbLoader loader_;
};

// Reads a file before it replaces data.
class VerifyTask final : public LoadTask {
 public:
  VerifyTask(std::unique_ptr<ByteSource> source, int databases, const RdbChecks& checks)
      : source_(std::move(source)), verifier_(*source_, databases, checks) {}

  Result<bool> step(std::size_t count) override { return verifier_.step(count); }
  std::uint64_t offset() const override { return verifier_.offset(); }
  std::uint64_t total() const override { return source_->size(); }

 private:
  std::unique_ptr<ByteSource> source_;
  RdbVerifier verifier_;
};

class Loading {
 public:
  using Ended = std::function<void(const Status&)>;

  // REQUIRES: !is_active().
  void begin(std::unique_ptr<LoadTask> task, Time now, Ended ended);

  bool is_active() const { return task_ != nullptr; }
  Time since() const { return since_; }
  std::uint64_t offset() const { return task_ ? task_->offset() : 0; }
  std::uint64_t total() const { return task_ ? task_->total() : 0; }

  // Loads for some milliseconds; at the end calls `ended`, which may begin the next. `delay`: see
  // delay_keys().
  void slice(std::int64_t delay = 0);

  // Loads all that is left.
  void finish();

  // Gives up without calling `ended`.
  void abandon();

 private:
  void step(std::size_t count);

  std::unique_ptr<LoadTask> task_;
  Ended ended_;
  Time since_{};
};

}  // namespace mayfly
