// SPDX-License-Identifier: Apache-2.0
#include "etcd/etcd_watch.h"

#include <algorithm>
#include <utility>

#include "etcd/gateway/replies.h"
#include "etcd/gateway/requests.h"

namespace mayfly {
namespace {

constexpr std::size_t kLineBytesMax = 64u << 20;
constexpr Millis kLastsLong{5000};  // a stream that was no failure from the start
constexpr int kOpenTimeouts = 4;    // of a call: until etcd says that the watch is there

}  // namespace

EtcdWatch::EtcdWatch(HttpLoop& loop, EtcdCalls& calls, const EtcdOptions& options, EtcdMeter& meter,
                     OnChange on_change)
    : loop_(loop),
      calls_(calls),
      options_(options),
      meter_(meter),
      on_change_(std::move(on_change)),
      pause_(options.watch_pause_min) {}

void EtcdWatch::start() { read(); }

void EtcdWatch::read() {
  calls_.call(kRangePath, range_request(options_.prefix),
              [this](const EtcdReply& reply) { on_read(reply); });
}

void EtcdWatch::on_read(const EtcdReply& reply) {
  Result<RegisterSnapshot> snapshot = reply.body ? parse_range_reply(*reply.body, options_.prefix)
                                                 : Result<RegisterSnapshot>(reply.body.error());
  if (!snapshot) {
    timer_ = loop_.after(std::exchange(pause_, std::min(pause_ * 2, options_.watch_pause_max)),
                         [this] { read(); });
    return;
  }
  version_ = snapshot->version;
  if (!snapshot->entries.empty()) on_change_(std::move(snapshot->entries));
  open();
}

void EtcdWatch::open() {
  endpoint_ = calls_.endpoint();
  opened_ = loop_.now();
  has_heard_ = false;
  line_.clear();
  HttpCall request{.url = std::string(calls_.url(endpoint_)).append(kWatchPath),
                   .body = watch_request(options_.prefix, version_ + 1),
                   .headers = calls_.headers(),
                   .connect_timeout = options_.call_timeout,
                   .on_data = [this](std::string_view data) { on_data(data); }};
  // Without it, a member that loses its leader keeps the stream open and silent.
  request.headers.push_back("Grpc-Metadata-hasleader: true");
  stream_ = loop_.post(std::move(request), [this](const HttpReply& reply) { on_end(reply); });
  start_timer(options_.call_timeout * kOpenTimeouts);
}

void EtcdWatch::start_timer(Millis silence) {
  loop_.cancel(timer_);
  timer_ = loop_.after(silence, [this] { renew(); });
}

void EtcdWatch::on_data(std::string_view data) {
  has_heard_ = true;
  start_timer(options_.watch_silence);
  line_.append(data);
  std::size_t begin = 0;
  while (stream_ != 0) {
    const std::size_t end = line_.find('\n', begin);
    if (end == std::string::npos) break;
    on_line(std::string_view(line_).substr(begin, end - begin));
    begin = end + 1;
  }
  line_.erase(0, begin);
  if (stream_ != 0 && line_.size() > kLineBytesMax) restart();
}

void EtcdWatch::on_line(std::string_view text) {
  if (text.empty()) return;
  Result<WatchLine> line = parse_watch_line(text, options_.prefix);
  if (line && !calls_.takes_line({line->id, line->version})) return restart();
  if (line && !line->entries.empty()) on_change_(std::move(line->entries));
  if (line && !line->is_canceled && line->error.empty()) return;
  // A token that is no longer good is replaced by the next call.
  if (line && line->error.find("auth") != std::string::npos) calls_.drop_token();
  restart();
}

void EtcdWatch::on_end(const HttpReply& reply) {
  if (reply.outcome != HttpReply::Outcome::answered) calls_.skip(endpoint_);
  stream_ = 0;
  restart();
}

void EtcdWatch::on_silence(std::size_t endpoint) {
  if (stream_ != 0 && endpoint == endpoint_ && options_.endpoints.size() > 1) restart();
}

void EtcdWatch::restart() {
  close();
  meter_.add_watch_restart();
  if (loop_.now() - opened_ >= kLastsLong) pause_ = options_.watch_pause_min;
  timer_ = loop_.after(std::exchange(pause_, std::min(pause_ * 2, options_.watch_pause_max)),
                       [this] { read(); });
}

void EtcdWatch::renew() {
  if (!has_heard_) {
    calls_.skip(endpoint_);
    return restart();
  }
  close();
  read();
}

void EtcdWatch::close() {
  loop_.cancel(std::exchange(timer_, 0));
  loop_.cancel(std::exchange(stream_, 0));
}

}  // namespace mayfly
