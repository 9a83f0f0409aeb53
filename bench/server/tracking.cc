// SPDX-License-Identifier: Apache-2.0
// What does client-side caching cost? Many clients that track, each of which has read keys of its
// own, and all of them one key.

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/server/measurements.h"

namespace mayfly::bench {
namespace {

constexpr std::size_t kSpareDescriptors = 256;  // files that are open beside the clients
constexpr int kHotWrites = 20;                  // of the key that all have read

std::size_t possible_trackers(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::min<std::size_t>(wanted, 512);
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
  return std::min<std::size_t>(wanted, limit.rlim_cur - kSpareDescriptors);
}

std::string tracked_key(std::size_t i) { return fmt::format("key:{:012}", i); }

// The server, the clients that track, and one that writes.
class TrackingRun {
 public:
  TrackingRun(ServerBench& bench, const ServerProgram& program)
      : bench_(bench),
        server_(program),
        writer_(server_.connect()),
        clients_(possible_trackers(bench.plan.tracking_clients)),
        keys_(bench.plan.tracked_keys) {
    set_config(writer_, "maxclients", std::to_string(clients_ + kSpareDescriptors / 2));
    set_config(writer_, "tracking-table-max-keys", "0");
    for (std::size_t i = 0; i < clients_; ++i) {
      trackers_.push_back(server_.connect());
      must(trackers_.back().call("HELLO", "3"));
      must(trackers_.back().call("CLIENT", "TRACKING", "ON"));
    }
  }

  // All keys, each by one client. They do not exist: only the table grows.
  void read_keys() {
    const double memory = used_memory(server_);
    const double seconds = timed([&] {
      for (std::size_t i = 0; i < clients_; ++i) {
        RespPipeline pipeline(trackers_[i]);
        for (std::size_t key = i; key < keys_; key += clients_) {
          pipeline.add("GET", tracked_key(key));
        }
        must(pipeline.finish());
      }
    });
    const double bytes = (used_memory(server_) - memory) / static_cast<double>(keys_);
    add("GET, tracked for the first time", seconds, keys_);
    bench_.add("tracking_memory", "a key that one client has read", server_, settings(),
               {{"bytes_per_key", bytes}});
  }

  void read_again() {
    const std::size_t reads = std::min<std::size_t>(keys_, 200'000);
    const double seconds = timed([&] {
      RespPipeline pipeline(trackers_[0]);
      for (std::size_t i = 0; i < reads; ++i) {
        pipeline.add("GET", tracked_key(i % (keys_ / clients_) * clients_));
      }
      must(pipeline.finish());
    });
    add("GET, tracked already", seconds, reads);
  }

  // Keys that nobody has read, or those that one client each has: it does not read its message.
  void write(std::string_view name, bool is_tracked) {
    const std::size_t writes = std::min<std::size_t>(keys_, 200'000);
    const double seconds = timed([&] {
      RespPipeline pipeline(writer_);
      for (std::size_t i = 0; i < writes; ++i) {
        pipeline.add("SET", is_tracked ? tracked_key(i) : fmt::format("new:{:012}", i), "v");
      }
      must(pipeline.finish());
    });
    add(std::string(name), seconds, writes);
  }

  // One key that all clients have read.
  void write_hot() {
    double seconds = 0;
    for (int round = 0; round < kHotWrites; ++round) {
      for (RespClient& client : trackers_) {
        client.add("GET", "hot");
        must(client.send());
      }
      for (RespClient& client : trackers_) {
        while (must(client.read()).kind == ReplyValue::Kind::push) {
        }
      }
      seconds += timed([&] {
        must(writer_.call("SET", "hot", "v"));
        must(writer_.call("PING"));  // all messages are on their way
      });
    }
    add("SET, read by all clients", seconds, kHotWrites);
  }

 private:
  // Processor time of the server.
  template <class Work>
  double timed(Work work) {
    const double before = server_.cpu_seconds();
    work();
    return server_.cpu_seconds() - before;
  }

  Settings settings() const {
    return {{"clients", static_cast<double>(clients_)}, {"keys", static_cast<double>(keys_)}};
  }

  void add(std::string name, double seconds, std::size_t requests) {
    bench_.add("tracking", std::move(name), server_, settings(),
               {{"server_us", seconds * 1e6 / static_cast<double>(requests)}});
  }

  ServerBench& bench_;
  const ServerChild server_;
  RespClient writer_;
  const std::size_t clients_;
  const std::size_t keys_;
  std::vector<RespClient> trackers_;
};

}  // namespace

void measure_tracking(ServerBench& bench) {
  for (const ServerProgram& program : bench.plan.servers) {
    bench.progress.begin(fmt::format("tracking: {}", program.name));
    TrackingRun run(bench, program);
    run.read_keys();
    run.read_again();
    run.write("SET, read by nobody", false);
    run.write("SET, read by one client", true);
    run.write_hot();
  }
}

}  // namespace mayfly::bench
