// SPDX-License-Identifier: Apache-2.0
// Starting, serving and ending.

#include "server/core/process.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/version.h"
#include "net/socket.h"
#include "server/cluster/cluster.h"
#include "server/core/client.h"
#include "server/core/requests.h"
#include "server/core/server_call.h"
#include "server/monitoring/log/crash_report.h"
#include "server/monitoring/log/log_file.h"
#include "server/persistence/child.h"
#include "server/persistence/persistence.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

constexpr int kPortsTried = 100;

EpollLoop* loop_to_stop = nullptr;   // written before signals are caught, read by the handler
std::atomic<int> signal_to_end = 0;  // the last that came, or 0

void on_signal(int number) {
  signal_to_end = number;
  if (loop_to_stop != nullptr) loop_to_stop->wake();
}

// A child has ended: the loop handles it at once.
void on_child(int) {
  if (loop_to_stop != nullptr) loop_to_stop->wake();
}

// "1234:M 15 Nov 2026 10:00:00.123 * text", as Valkey writes it.
void write_line(std::FILE* file, const Clock& clock, Level level, std::string_view text) {
  constexpr std::string_view kMarks = ".-*#";
  const std::int64_t ms = clock.now().time_since_epoch().count();
  const std::time_t seconds = ms / 1000;
  fmt::print(file, "{}:M {:%d %b %Y %H:%M:%S}.{:03} {} {}\n", getpid(), fmt::localtime(seconds),
             ms % 1000, kMarks[static_cast<std::size_t>(level)], text);
  std::fflush(file);
}

// Each client needs a file descriptor, and so do we.
void raise_file_limit(std::int64_t clients) {
  constexpr rlim_t kOwn = 128;  // also for clients that are closed at the end of a turn
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = static_cast<rlim_t>(clients) + kOwn;
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

bool is_taken(const Error& error) { return error.code == Code::busy; }

}  // namespace

ServerProcess::ServerProcess(Config config, std::string executable)
    : log_([this](Level level, std::string_view text) { write_line(stdout, clock_, level, text); }),
      executable_(std::move(executable)),
      server_(config.cluster_enabled ? static_cast<const Clock&>(floored_clock_) : clock_,
              std::move(config), log_, *this),
      loop_(clock_, {.log = [this](std::string_view line) { log_.write(Level::warning, line); }}),
      http_(loop_, [this](Link& link) { return server_.accept_http(link); }) {
  const Config& given = server_.parts().config;
  raise_file_limit(given.maxclients + given.http_maxconnections);
}

Persistence& ServerProcess::persistence() { return server_.parts().persistence; }

ServerProcess::~ServerProcess() {
  loop_to_stop = nullptr;
  if (catches_signals_) release_crashes();  // a report would read destroyed objects
  if (has_pidfile_) std::remove(server_.parts().config.pidfile.c_str());
}

Status ServerProcess::listen_at(const std::string& host, int port) {
  const Config& config = server_.parts().config;
  const ListenOptions options = {.backlog = static_cast<int>(config.tcp_backlog),
                                 .keepalive_seconds = static_cast<int>(config.tcp_keepalive),
                                 .permissions = 0};
  const Result<int> listening =
      loop_.listen_tcp(host, port, options, [this](Link& link) { return server_.accept(link); });
  if (!listening) return listening.error();
  port_ = *listening;
  const bool is_ipv6 = host.find(':') != host.npos;
  addresses_.push_back(
      fmt::format("{}{}{}:{}", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", *listening));
  return Done{};
}

Status ServerProcess::listen_everywhere(const std::vector<std::string>& hosts, int port) {
  loop_.stop_listening_tcp();
  addresses_.clear();
  port_ = hosts.empty() ? port : 0;
  if (port == 0 || hosts.empty()) return Done{};
  for (const std::string& host : hosts) {
    const bool is_optional = host.starts_with('-');
    const Status status = listen_at(is_optional ? host.substr(1) : host, port);
    if (!status && (!is_optional || is_taken(status.error()))) return status;
  }
  if (addresses_.empty())
    return Error{Code::invalid, "none of the addresses in `bind` can be used"};
  return Done{};
}

Status ServerProcess::listen(bool any_port) {
  if (Status status = listen_for_clients(any_port); !status) return status;
  return http_.listen(server_.parts().config, any_port);
}

Status ServerProcess::listen_for_clients(bool any_port) {
  const Config& config = server_.parts().config;
  const bool has_tcp = config.port != 0 && !config.bind.empty();
  if (!has_tcp && config.unixsocket.empty()) {
    return Error{Code::invalid,
                 fmt::format("{} and there is no unixsocket: no client could connect",
                             config.port == 0 ? "port is 0" : "bind names no address")};
  }
  if (!config.unixsocket.empty()) {
    const ListenOptions options = {.backlog = static_cast<int>(config.tcp_backlog),
                                   .keepalive_seconds = 0,
                                   .permissions = static_cast<unsigned>(config.unixsocketperm)};
    const Status status = loop_.listen_unix(config.unixsocket, options,
                                            [this](Link& link) { return server_.accept(link); });
    if (!status) return status;
  }
  if (config.port == 0) return Done{};

  const int first = static_cast<int>(config.port);
  Status status = listen_everywhere(config.bind, first);
  for (int port = first + 1; any_port && !status && is_taken(status.error()) &&
                             port < first + kPortsTried && port < 65'536;
       ++port) {
    status = listen_everywhere(config.bind, port);
  }
  return status;
}

Status ServerProcess::relisten(const Config& config) {
  const Config& before = server_.parts().config;
  if (Status status = http_.relisten(before, config); !status) return status;
  if (config.port == before.port && config.bind == before.bind) return Done{};
  const auto old_port = static_cast<int>(port_);
  // The port at the start may be another than was asked for (--any-port).
  const int port = config.port == before.port ? old_port : static_cast<int>(config.port);
  const Status status = listen_everywhere(config.bind, port);
  if (!status) {
    if (Status back = listen_everywhere(before.bind, old_port); !back) {
      log_.write(Level::warning, fmt::format("Cannot listen on port {} any more: {}", old_port,
                                             back.error().message));
    }
    (void)http_.relisten(config, before);
  }
  persistence().directory().renew_owner();
  return status;
}

Status ServerProcess::open_log() {
  const std::string& path = server_.parts().config.logfile;
  if (path.empty()) return Done{};
  // Opened for each line, so that log rotation can move the file away.
  std::FILE* const file = open_text_file(path, TextFile::log);
  if (file == nullptr) {
    return Error{Code::io,
                 fmt::format("cannot write the log file '{}': {}", path, std::strerror(errno))};
  }
  std::fclose(file);
  log_.set_sink([this, path](Level level, std::string_view text) {
    std::FILE* const out = open_text_file(path, TextFile::log);
    write_line(out == nullptr ? stderr : out, clock_, level, text);
    if (out != nullptr) std::fclose(out);
  });
  return Done{};
}

// Without one the server runs all the same, as others do: Debian's redis.conf names a folder that
// exists only under its own unit.
void ServerProcess::write_pidfile() {
  const std::string& path = server_.parts().config.pidfile;
  if (path.empty()) return;
  std::FILE* const file = open_text_file(path, TextFile::pid);
  bool is_written = file != nullptr && std::fprintf(file, "%d\n", getpid()) > 0;
  if (file != nullptr) is_written = std::fclose(file) == 0 && is_written;
  has_pidfile_ = file != nullptr;
  if (is_written) return;
  log_.write(Level::warning,
             fmt::format("Cannot write the pid file '{}': {} (the server runs without it)", path,
                         std::strerror(errno)));
}

void ServerProcess::catch_signals() {
  loop_to_stop = &loop_;
  struct sigaction action {};
  action.sa_handler = on_child;
  action.sa_flags = SA_RESTART | SA_NOCLDSTOP;
  sigaction(SIGCHLD, &action, nullptr);
  action.sa_flags = 0;
  action.sa_handler = on_signal;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is handled as a full disk
  std::signal(SIGALRM, SIG_IGN);  // it means something to Valkey
  catches_signals_ = true;
  report_crashes(server_.parts().config.crash_log_enabled);
}

void ServerProcess::report_crashes(bool are_reported) {
  if (!catches_signals_) return;  // see there
  if (!are_reported) return release_crashes();
  const ServerParts& parts = server_.parts();
  catch_crashes(
      {.log_path = parts.config.logfile, .request = &parts.requests.running(), .clock = &clock_});
}

void ServerProcess::keep_info(std::string_view info) {
  if (catches_signals_) keep_info_for_crash(info, clock_.now());
}

Result<std::unique_ptr<Child>> ServerProcess::start_child(const ChildWork& work,
                                                          const std::vector<int>& kept) {
  return fork_child(work, kept);
}

void ServerProcess::connect(const std::string& host, int port, Acceptor connected,
                            std::function<void(const Error&)> failed) {
  const Result<std::string> address = numeric_address(host);
  if (!address) return failed(address.error());
  loop_.connect(*address, port, std::move(connected), std::move(failed));
}

Result<std::unique_ptr<BlockingStream>> ServerProcess::connect_blocking(const std::string& host,
                                                                        int port, Millis longest) {
  return mayfly::connect_blocking(host, port, longest);
}

Result<std::unique_ptr<Register>> ServerProcess::open_register(const Config& config) {
  if (!open_register_) return ServerHost::open_register(config);
  return open_register_(config, [this] { loop_.wake(); });
}

void ServerProcess::end_if_asked() {
  const int number = signal_to_end.exchange(0);
  if (number == 0) return;
  const Config& config = server_.parts().config;
  persistence().shutdown().take_signal(sigabbrev_np(number), number == SIGINT
                                                                 ? config.shutdown_on_sigint
                                                                 : config.shutdown_on_sigterm);
}

Status ServerProcess::take_directory() {
  const Config& config = server_.parts().config;
  std::error_code failure;
  server_.parts().config.start_directory = std::filesystem::current_path(failure).string();
  if (chdir(config.dir.c_str()) != 0) {
    return Error{Code::io, fmt::format("cannot change to the directory '{}' (dir): {}", config.dir,
                                       std::strerror(errno))};
  }
  // It may have been relative to the old directory; all file names begin with it.
  if (const auto here = std::filesystem::current_path(failure); !failure) {
    server_.parts().config.dir = here.string();
  }
  return persistence().directory().take();
}

void ServerProcess::ready() {
  for (const std::string& address : addresses_) {
    log_.write(Level::notice, fmt::format("Ready to accept connections at {}", address));
  }
  const std::string& socket = server_.parts().config.unixsocket;
  if (!socket.empty()) {
    log_.write(Level::notice, fmt::format("Ready to accept connections at {}", socket));
  }
  if (http_.port() != 0) {
    log_.write(Level::notice, fmt::format("Metrics and console at {}", http_.url()));
  }
  if (on_ready_) on_ready_();
}

Status ServerProcess::run() {
  Status ended = serve();
  // In the background, or with a log file, the terminal is not where people look.
  const Config& config = server_.parts().config;
  if (!ended && (config.daemonize || !config.logfile.empty())) {
    log_.write(Level::warning, fmt::format("The server ends: {}", ended.error().message));
  }
  return ended;
}

Status ServerProcess::serve() {
  const Config& config = server_.parts().config;
  if (Status status = open_log(); !status) return status;
  // Who started it may wait for the end of the output. A log such as /dev/stdout needs it.
  const bool keeps_output = config.logfile.starts_with("/dev/");
  if (config.daemonize && daemon(1, keeps_output ? 1 : 0) != 0) {
    return Error{Code::io, fmt::format("cannot daemonize: {}", std::strerror(errno))};
  }
  persistence().directory().renew_owner();
  write_pidfile();
  log_.write(Level::notice, fmt::format("Mayfly {} starts: process {}, port {}, folder '{}'",
                                        kMayflyVersion, getpid(), port_, config.dir));
  catch_signals();
  loop_.on_turn_begin([this] { server_.begin_turn(); });
  loop_.before_sleep([this] { return server_.before_sleep(); });
  loop_.on_wake([this] {
    end_if_asked();
    server_.wake();
  });
  if (Status status = server_.parts().cluster.start(); !status) return status;
  server_.parts().replication.last_role().compare();
  if (!config.replicaof_host.empty()) {
    server_.parts().replication.follow(config.replicaof_host,
                                       static_cast<int>(config.replicaof_port));
  }
  if (Status status = persistence().start(); !status) return status;
  loop_.run();
  if (const auto& fatal = persistence().fatal()) return *fatal;
  Persistence& persistence = server_.parts().persistence;
  if (Status status = persistence.shut_down(persistence.saves_at_end()); !status) return status;
  log_.write(Level::notice, "Server stopped");
  return Done{};
}

}  // namespace mayfly
