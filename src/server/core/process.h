// SPDX-License-Identifier: Apache-2.0
// The server as a process: sockets, signals, log file, pid file.

#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/floored_clock.h"
#include "mayfly/clock.h"
#include "mayfly/result.h"
#include "net/epoll_loop.h"
#include "server/config/config.h"
#include "server/core/log.h"
#include "server/core/server.h"
#include "server/http/http_listeners.h"

namespace mayfly {

class Persistence;

class ServerProcess final : public ServerHost {
 public:
  ServerProcess(Config config, std::string executable);
  ~ServerProcess() override;

  // Listens where the configuration says. With `any_port`, the next free port is taken if the first
  // is in use.
  Status listen(bool any_port);

  // Goes to the directory `dir`, and locks it: an error if another server has it.
  Status take_directory();

  // Serves until SIGTERM, SIGINT or SHUTDOWN. REQUIRES: listen() and take_directory() have worked.
  Status run();

  // Called when the data is loaded.
  void on_ready(std::function<void()> call) { on_ready_ = std::move(call); }

  // The files of the console. Call it before listen().
  void set_web_files(std::span<const HttpFile> files) { web_files_ = files; }
  std::span<const HttpFile> web_files() const override { return web_files_; }

  std::int64_t port() const override { return port_; }
  std::int64_t http_port() const override { return http_.port(); }
  std::string http_url() const { return http_.url(); }
  Status relisten(const Config& config) override;
  std::string executable() const override { return executable_; }
  void report_crashes(bool are_reported) override;
  void keep_info(std::string_view info) override;
  LoopCounts loop_counts() const override { return loop_.counts(); }
  void shut_down() override { loop_.stop(); }
  void ready() override;
  Disk& disk() override { return disk_; }
  void serve_others() override { loop_.serve_others(); }
  Result<std::unique_ptr<Child>> start_child(const ChildWork& work,
                                             const std::vector<int>& kept) override;
  void connect(const std::string& host, int port, Acceptor connected,
               std::function<void(const Error&)> failed) override;
  Result<std::unique_ptr<BlockingStream>> connect_blocking(const std::string& host, int port,
                                                           Millis longest) override;
  const std::vector<std::string>& addresses() const { return addresses_; }
  Log& log() { return log_; }

  // Opens the register of a cluster. `wake` may be called from any thread. Without one there are no
  // clusters.
  using OpenRegister = std::function<Result<std::unique_ptr<Register>>(const Config& config,
                                                                       std::function<void()> wake)>;
  void set_register(OpenRegister open) { open_register_ = std::move(open); }
  Result<std::unique_ptr<Register>> open_register(const Config& config) override;
  const Clock& lease_clock() const override { return lease_clock_; }
  void raise_clock(Time floor) override { floored_clock_.raise(floor); }
  void limit_clock(Millis most) override { floored_clock_.limit(most); }
  Millis clock_ahead() const override { return floored_clock_.ahead(); }

 private:
  Persistence& persistence();
  Status listen_at(const std::string& host, int port);
  Status listen_for_clients(bool any_port);
  Status listen_everywhere(const std::vector<std::string>& hosts, int port);
  Status open_log();
  void write_pidfile();
  Status serve();
  void catch_signals();
  void end_if_asked();

  SystemClock clock_;
  SteadyClock lease_clock_;
  FlooredClock floored_clock_{clock_, lease_clock_};  // of the node of a cluster
  OpenRegister open_register_;
  SystemDisk disk_;
  Log log_;
  std::string executable_;
  bool catches_signals_ = false;  // before the server, which asks when it is made
  Server server_;
  EpollLoop loop_;
  HttpListeners http_;
  std::span<const HttpFile> web_files_;
  std::int64_t port_ = 0;
  std::function<void()> on_ready_;
  bool has_pidfile_ = false;
  std::vector<std::string> addresses_;
};

}  // namespace mayfly
