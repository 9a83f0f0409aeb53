// SPDX-License-Identifier: Apache-2.0
// `mayfly top`: what a running server does.

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "cli/server_commands.h"
#include "cli/top/top_report.h"
#include "cli/top/top_screen.h"
#include "mayfly/clock.h"
#include "mayfly/internal/stopwatch.h"
#include "tools/resp_client.h"
#include "tools/server_address.h"
#include "tools/terminal/output.h"
#include "tools/terminal/stop_signals.h"
#include "tools/terminal/terminal.h"

namespace mayfly {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  mayfly top                                 the server of this machine, at port 6379\n"
    "  mayfly top --port 7000\n"
    "  mayfly top redis://:secret@db.example      any Redis or Valkey, with what it tells\n"
    "  mayfly top --once                          one report, and that is all\n"
    "  mayfly top --json --interval 10 >>log      an object on a line, every ten seconds\n"
    "q or Ctrl-C ends it, p pauses. Rates are those of the last interval. 'due within' counts "
    "keys\n"
    "by their deadline, and hashes by that of the field which is due next. 'late by' is how long\n"
    "after their deadline things were removed: by the sweep, or because somebody asked for them.\n"
    "Without a terminal to draw on it prints one report. If the server goes away, it is asked\n"
    "again each second. Exit code 1: there is no server.";

constexpr Millis kPatience{2000};

struct TopWords {
  std::string server;
  int port = 0;
  double interval_s = 1;
  bool is_once = false;
};

// The server, as long as it is there.
class Watched {
 public:
  Watched(ServerAddress address, const Clock& clock)
      : address_(std::move(address)), clock_(clock) {}

  // Asks once more, and connects if need be.
  Status look();

  const TopView& view() const { return view_; }
  const TopHistory& history() const { return history_; }
  std::string address() const { return address_.text(); }
  Time time() const { return clock_.now(); }

 private:
  Result<std::string> ask();

  const ServerAddress address_;
  const Clock& clock_;
  std::optional<RespClient> client_;
  std::optional<TopSample> before_;
  TopView view_;
  TopHistory history_;
};

Result<std::string> Watched::ask() {
  if (!client_) {
    Result<RespClient> client = RespClient::connect(address_);
    if (!client) return client.error();
    client_.emplace(std::move(*client));
  }
  client_->add("INFO", "all");
  if (const Status status = client_->send(); !status) return status.error();
  Result<std::optional<ReplyValue>> reply = client_->read_within(kPatience);
  if (!reply) return reply.error();
  if (!*reply) return Error{Code::io, "the server is silent"};
  if ((*reply)->kind == ReplyValue::Kind::error) {
    return Error{Code::denied, fmt::format("the server refused INFO: {}", (*reply)->text)};
  }
  return std::move((*reply)->text);
}

Status Watched::look() {
  Result<std::string> info = ask();
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

Result<ServerAddress> address_of(const TopWords& words) {
  if (words.port != 0 && !words.server.empty()) {
    return Error{Code::invalid, "say either the address of the server or --port"};
  }
  ServerAddress address;
  if (words.server.empty()) {
    if (words.port != 0) address.port = words.port;
    return address;
  }
  return parse_server_address(words.server);
}

// Waits for a key, a signal or the time, and returns the key, or 0.
char wait(StopSignals& stop, bool has_keys, std::int64_t until_ns) {
  const std::int64_t left_ms = (until_ns - monotonic_ns() + 999'999) / 1'000'000;
  std::array<pollfd, 2> waits = {{{stop.descriptor(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}}};
  const int ready =
      ::poll(waits.data(), has_keys ? 2 : 1, static_cast<int>(std::max<std::int64_t>(left_ms, 0)));
  char key = 0;
  if (ready > 0 && has_keys && waits[1].revents != 0) {
    if (::read(STDIN_FILENO, &key, 1) != 1) return 'q';  // the terminal is gone
  }
  return key;
}

std::int64_t ns_of(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

// Waits until then. Returns false if it was told to stop meanwhile.
bool pass_time(StopSignals& stop, double seconds) {
  const std::int64_t until_ns = monotonic_ns() + ns_of(seconds);
  while (monotonic_ns() < until_ns && !stop.asked()) (void)wait(stop, false, until_ns);
  return !stop.asked();
}

// Rates need two looks.
Result<Exit> report_once(Watched& server, const TopWords& words, bool is_json, StopSignals& stop) {
  if (!pass_time(stop, words.interval_s)) return Exit::failed;
  if (const Status status = server.look(); !status) return status.error();
  if (is_json) {
    fmt::print("{}\n", top_json(server.view(), server.address(), server.time()));
    return Exit::ok;
  }
  for (const std::string& line : top_lines(server.view(), {}, server.address(), 1000)) {
    fmt::print("{}\n", line);
  }
  return Exit::ok;
}

Result<Exit> stream(Watched& server, const TopWords& words, StopSignals& stop) {
  bool was_there = true;
  while (pass_time(stop, was_there ? words.interval_s : 1)) {
    const Status status = server.look();
    if (status) {
      fmt::print("{}\n", top_json(server.view(), server.address(), server.time()));
      flush_output();
    } else if (was_there) {
      fmt::print(stderr, "mayfly: {}; trying again each second\n", status.error().message);
    }
    was_there = status.ok();
  }
  return Exit::ok;
}

void draw(const TopScreen& screen, const Watched& server, const Status& status, bool is_paused) {
  const std::size_t width = screen.size().columns;
  std::vector<std::string> lines =
      top_lines(server.view(), server.history(), server.address(), width);
  lines[1] = is_paused ? "PAUSED; p goes on, q quits" : "p pauses, q quits";
  if (!status) {
    lines[1] = fmt::format("{}; trying again each second, q quits", status.error().message);
  }
  lines[1] = cut(lines[1], width);
  screen.draw(lines);
}

Result<Exit> live(Watched& server, const TopWords& words, StopSignals& stop) {
  const TopScreen screen;
  Status status = Done{};
  bool is_paused = false;
  std::int64_t next_ns = monotonic_ns() + ns_of(std::min(words.interval_s, 0.2));  // first rates
  while (!stop.asked()) {
    draw(screen, server, status, is_paused);
    const char key = wait(stop, true, next_ns);
    if (key == 'q' || key == 'Q') break;
    if (key == 'p' || key == 'P' || key == ' ') is_paused = !is_paused;
    if (monotonic_ns() < next_ns) continue;
    if (!is_paused) status = server.look();
    next_ns = monotonic_ns() + ns_of(status ? words.interval_s : 1);
  }
  return Exit::ok;
}

Result<Exit> top(const TopWords& words, bool is_json) {
  const Result<ServerAddress> address = address_of(words);
  if (!address) return address.error();
  const SystemClock clock;
  Watched server(*address, clock);
  if (const Status status = server.look(); !status) return status.error();
  StopSignals stop;
  const bool is_seen = is_terminal(STDOUT_FILENO);
  if (words.is_once || (!is_json && !is_seen)) return report_once(server, words, is_json, stop);
  return is_json ? stream(server, words, stop) : live(server, words, stop);
}

}  // namespace

void add_top_command(Program& program, const StoreFile* file) {
  TopWords* const words = program.keep<TopWords>();
  CliCommand command = program.add("top", "Show what a running server does", kExamples);
  command.add_option("SERVER", words->server, "redis://[[user]:password@]host[:port]");
  command.add_option("--port", words->port, "A server of this machine (6379)")
      .type_name("PORT")
      .range(1, 65'535);
  command.add_option("--interval", words->interval_s, "Seconds between two looks (1)")
      .type_name("SECONDS")
      .range(0.05, 86'400.0);
  command.add_flag("--once", words->is_once, "Print one report, and end");
  bool* const is_json = program.keep<bool>(false);
  command.add_flag("--json", *is_json, "An object of JSON on a line, for each look");
  program.on(command, [=] { return top(*words, *is_json || file->is_json()); });
}

}  // namespace mayfly
