// SPDX-License-Identifier: Apache-2.0
// EtcdWatch: tells what changes below the prefix, for as long as it lives.
//
//   pausing -> reading -> opening -> streaming
//      ^__________________________________|   on any end of the stream
//
// It reads all records and asks for the changes from the next version on; whenever the stream ends,
// it does that again, since whatever the reason (no leader, compacted, connection lost) that is the
// only state that is known to be right. A stream on which nothing is heard is renewed, too.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/register.h"
#include "etcd/etcd_calls.h"
#include "etcd/etcd_meter.h"
#include "etcd/etcd_options.h"
#include "etcd/http/http_loop.h"

namespace mayfly {

class EtcdWatch {
 public:
  using OnChange = std::function<void(std::vector<RegisterEntry>)>;

  // All of them must outlive it.
  EtcdWatch(HttpLoop& loop, EtcdCalls& calls, const EtcdOptions& options, EtcdMeter& meter,
            OnChange on_change);

  void start();  // once

  // An endpoint has stopped answering: a stream from there may be as dead, and nobody would notice.
  void on_silence(std::size_t endpoint);

 private:
  void read();
  void on_read(const EtcdReply& reply);
  void open();
  void on_data(std::string_view data);
  void on_line(std::string_view text);
  void on_end(const HttpReply& reply);
  void restart();  // after a failure
  void renew();    // after silence
  void close();
  void start_timer(Millis silence);

  HttpLoop& loop_;
  EtcdCalls& calls_;
  const EtcdOptions& options_;
  EtcdMeter& meter_;
  const OnChange on_change_;

  Millis pause_;               // before the next try
  std::uint64_t version_ = 0;  // that was read
  HttpLoop::Id stream_ = 0;    // 0: pausing or reading
  HttpLoop::Id timer_ = 0;     // of silence, of the pause
  std::size_t endpoint_ = 0;   // of the stream
  std::string line_;           // what has come of the line that is not complete
  bool has_heard_ = false;     // anything on this stream
  Time opened_{};
};

}  // namespace mayfly
