// SPDX-License-Identifier: Apache-2.0
// `mayfly top`: monitors a running server.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "cli/commands.h"
#include "cli/store/store_file.h"
#include "cli/top/top_report.h"
#include "mayfly/clock.h"
#include "mayfly/internal/stopwatch.h"
#include "tools/resp_client.h"
#include "tools/server_address.h"
#include "tools/terminal/live_screen.h"
#include "tools/terminal/terminal.h"

namespace mayfly {
namespace {

constexpr const char* kTopExamples =
    "Examples:\n"
    "  mayfly top                                 the server on this machine, port 6379\n"
    "  mayfly top --port 7000\n"
    "  mayfly top redis://:secret@db.example      any Redis or Valkey server\n"
    "  mayfly top --once                          print one report and exit\n"
    "  mayfly top --json --interval 10 >>log      one JSON object per line, every ten seconds\n"
    "q or Ctrl-C quits, p pauses. Rates cover the last interval. 'due within' counts keys by\n"
    "their expiry time, and keys by that of their next member. 'late by' is the time\n"
    "between expiry and removal, by the sweep or by an access. If standard output is not a\n"
    "terminal, one report is printed. If the connection is lost, top reconnects every second.\n"
    "Exit code 1: no server.";

constexpr Millis kReplyTimeout{2000};
constexpr std::size_t kInfoMost = std::size_t{4} << 20;

struct TopArgs {
  std::string server;
  int port = 0;
  double interval_s = 1;
  bool is_once = false;
};

// The server being monitored.
class MonitoredServer {
 public:
  MonitoredServer(ServerAddress address, const Clock& clock)
      : address_(std::move(address)), clock_(clock) {}

  // Sends INFO again; connects first if needed.
  Status update();

  const TopView& view() const { return view_; }
  const TopHistory& history() const { return history_; }
  std::string address() const { return address_.text(); }
  Time time() const { return clock_.now(); }

 private:
  Result<std::string> read_info();

  const ServerAddress address_;
  const Clock& clock_;
  std::optional<RespClient> client_;
  std::optional<TopSample> before_;
  TopView view_;
  TopHistory history_;
};

Result<std::string> MonitoredServer::read_info() {
  if (!client_) {
    Result<RespClient> client = RespClient::connect(address_);
    if (!client) return client.error();
    client_.emplace(std::move(*client));
    client_->set_reply_most(kInfoMost);
  }
  client_->add("INFO", "all");
  if (const Status status = client_->send(); !status) return status.error();
  Result<std::optional<ReplyValue>> reply = client_->read_within(kReplyTimeout);
  if (!reply) return reply.error();
  if (!*reply) return Error{Code::io, "the server does not respond"};
  if ((*reply)->kind == ReplyValue::Kind::error) {
    return Error{Code::denied, fmt::format("INFO failed: {}", (*reply)->text)};
  }
  escape_texts(**reply);
  return std::move((*reply)->text);
}

Status MonitoredServer::update() {
  Result<std::string> info = read_info();
  if (!info) {
    client_.reset();
    return info.error();
  }
  TopSample now{std::move(*info), monotonic_ns()};
  const double wall_s = static_cast<double>(clock_.now().time_since_epoch().count()) / 1000;
  view_ = view_of(before_ ? &*before_ : nullptr, now, wall_s);
  history_.add(view_);
  before_ = std::move(now);
  return Done{};
}

Result<ServerAddress> address_of(const TopArgs& args) {
  if (args.port != 0 && !args.server.empty()) {
    return Error{Code::invalid, "give either SERVER or --port"};
  }
  ServerAddress address;
  if (args.server.empty()) {
    if (args.port != 0) address.port = args.port;
    return address;
  }
  return parse_server_address(args.server);
}

std::int64_t ns_of(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

// Returns false if it was interrupted.
bool pass_time(StopSignals& stop, double seconds) {
  const std::int64_t until_ns = monotonic_ns() + ns_of(seconds);
  while (monotonic_ns() < until_ns && !stop.asked()) (void)wait_for_key(stop, false, until_ns);
  return !stop.asked();
}

// Rates need two samples.
Result<Exit> report_once(MonitoredServer& server, const TopArgs& args, bool is_json,
                         StopSignals& stop) {
  if (!pass_time(stop, args.interval_s)) return Exit::failed;
  if (const Status status = server.update(); !status) return status.error();
  if (is_json) {
    fmt::print("{}\n", top_json(server.view(), server.address(), server.time()));
    return Exit::ok;
  }
  for (const std::string& line : top_lines(server.view(), {}, server.address(), 1000)) {
    fmt::print("{}\n", line);
  }
  return Exit::ok;
}

Result<Exit> stream(MonitoredServer& server, const TopArgs& args, StopSignals& stop) {
  bool was_there = true;
  while (pass_time(stop, was_there ? args.interval_s : 1)) {
    const Status status = server.update();
    if (status) {
      fmt::print("{}\n", top_json(server.view(), server.address(), server.time()));
      flush_output();
    } else if (was_there) {
      fmt::print(stderr, "mayfly: {}; retrying every second\n", status.error().message);
    }
    was_there = status.ok();
  }
  return Exit::ok;
}

void draw(const LiveScreen& screen, const MonitoredServer& server, const Status& status,
          bool is_paused) {
  const std::size_t width = screen.size().columns;
  std::vector<std::string> lines =
      top_lines(server.view(), server.history(), server.address(), width);
  lines[1] = is_paused ? "PAUSED; p resumes, q quits" : "p pauses, q quits";
  if (!status) {
    lines[1] = fmt::format("{}; retrying every second, q quits", status.error().message);
  }
  lines[1] = cut(lines[1], width);
  screen.draw(lines);
}

Result<Exit> live(MonitoredServer& server, const TopArgs& args, StopSignals& stop) {
  const LiveScreen screen;
  Status status = Done{};
  bool is_paused = false;
  std::int64_t next_ns =
      monotonic_ns() + ns_of(std::min(args.interval_s, 0.2));  // first rates soon
  while (!stop.asked()) {
    draw(screen, server, status, is_paused);
    const char key = wait_for_key(stop, true, next_ns);
    if (key == 'q' || key == 'Q') break;
    if (key == 'p' || key == 'P' || key == ' ') is_paused = !is_paused;
    if (monotonic_ns() < next_ns) continue;
    if (!is_paused) status = server.update();
    next_ns = monotonic_ns() + ns_of(status ? args.interval_s : 1);
  }
  return Exit::ok;
}

Result<Exit> run_top(const TopArgs& args, bool is_json) {
  const Result<ServerAddress> address = address_of(args);
  if (!address) return address.error();
  const SystemClock clock;
  MonitoredServer server(*address, clock);
  if (const Status status = server.update(); !status) return status.error();
  StopSignals stop;
  const bool is_visible = is_terminal(STDOUT_FILENO);
  if (args.is_once || (!is_json && !is_visible)) return report_once(server, args, is_json, stop);
  return is_json ? stream(server, args, stop) : live(server, args, stop);
}

}  // namespace

void add_top_command(Program& program, const StoreFile* file) {
  TopArgs* const args = program.keep<TopArgs>();
  CliCommand command = program.add("top", "Monitor a running server", kTopExamples);
  command.add_option("SERVER", args->server, "redis://[[user]:password@]host[:port]");
  command.add_option("--port", args->port, "Port on this machine (default 6379)")
      .type_name("PORT")
      .range(1, 65'535);
  command.add_option("--interval", args->interval_s, "Seconds between updates (default 1)")
      .type_name("SECONDS")
      .range(0.05, 86'400.0);
  command.add_flag("--once", args->is_once, "Print one report and exit");
  bool* const is_json = program.keep<bool>(false);
  command.add_flag("--json", *is_json, "Print one JSON object per update");
  program.on(command, [=] { return run_top(*args, *is_json || file->is_json()); });
}

}  // namespace mayfly
