// SPDX-License-Identifier: Apache-2.0
// BlockingRegister: a register of etcd whose calls wait for their answers. For commands, which have
// nothing else to do meanwhile.
//
//   auto records = BlockingRegister::open(options);
//   if (!records) return records.error();
//   const auto all = (*records)->read();          // waits 2 s at most

#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "cluster/register.h"
#include "etcd/etcd_options.h"
#include "mayfly/result.h"
#include "mayfly/time.h"

namespace mayfly {

class BlockingRegister {
 public:
  // As open_etcd_register: it does not look whether etcd is there.
  static Result<std::unique_ptr<BlockingRegister>> open(const EtcdOptions& options);

  BlockingRegister(const BlockingRegister&) = delete;
  BlockingRegister& operator=(const BlockingRegister&) = delete;

  Result<RegisterSnapshot> read();
  CommitAnswer commit(RegisterCommit commit);

  // Waits until a record has changed since the last read(), or until the time is over. Returns
  // whether one has.
  bool wait_change(Millis timeout);

  RegisterStats stats() const { return register_->stats(); }

 private:
  BlockingRegister() = default;

  void wait_until(const std::function<bool()>& is_over);
  bool take_bell(Millis timeout);  // whether it has rung

  std::mutex mutex_;
  std::condition_variable rung_;
  bool has_rung_ = false;  // guarded by mutex_

  bool is_watching_ = false;
  bool has_changed_ = false;
  std::uint64_t version_ = 0;           // of the last read
  std::unique_ptr<Register> register_;  // last: its thread rings the bell
};

}  // namespace mayfly
