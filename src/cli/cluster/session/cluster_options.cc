// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/session/cluster_options.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>

#include "cli/cluster/session/etcd_records.h"
#include "cli/cluster/session/resp_nodes.h"
#include "mayfly/internal/stopwatch.h"
#include "tools/terminal/live_screen.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/terminal.h"

namespace mayfly {
namespace {

// A person waits longer than a server that has to serve.
constexpr Millis kEtcdCall{1000};
constexpr Millis kEtcdPatience{5000};

std::string or_variable(const std::string& given, const char* variable) {
  if (!given.empty()) return given;
  const char* const value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

// A person at a terminal, or a script.
class TerminalTalk final : public ClusterTalk {
 public:
  ~TerminalTalk() override { wipe(); }

  void print(std::string_view text) override {
    wipe();
    write_output(text);
    flush_output();
  }
  void note(std::string_view line) override {
    wipe();
    fmt::print(stderr, "{}\n", line);
  }
  bool confirm(std::string_view question) override;
  void progress(double done, std::string_view what) override;
  bool is_stopped() override { return stop_.asked(); }
  void show(const std::vector<std::string>& lines) override;
  bool pause(Millis time) override;
  bool has_colours() override { return wants_colours(); }

 private:
  void wipe();

  StopSignals stop_;
  std::optional<LiveScreen> screen_;
  bool is_drawn_ = false;
  std::string last_;  // what was noted last, where nobody sees a line that is drawn over itself
  const std::int64_t begin_ns_ = monotonic_ns();
};

bool TerminalTalk::confirm(std::string_view question) {
  if (!is_terminal(STDIN_FILENO)) return false;
  wipe();
  fmt::print(stderr, "{} [y/N] ", question);
  std::fflush(stderr);
  std::array<pollfd, 2> waits = {{{stop_.descriptor(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}}};
  (void)::poll(waits.data(), waits.size(), -1);
  std::string answer;
  if (stop_.asked() || !std::getline(std::cin, answer)) return false;
  return answer == "y" || answer == "Y" || answer == "yes";
}

void TerminalTalk::progress(double done, std::string_view what) {
  if (!is_terminal(STDERR_FILENO)) {
    if (last_ != what) fmt::print(stderr, "{}\n", what);
    last_ = what;
    return;
  }
  const double seconds = static_cast<double>(monotonic_ns() - begin_ns_) / 1e9;
  fmt::print(stderr, "\r{}\x1b[K", progress_line(done, what, seconds));
  std::fflush(stderr);
  is_drawn_ = true;
}

void TerminalTalk::show(const std::vector<std::string>& lines) {
  if (is_terminal(STDOUT_FILENO)) {
    if (!screen_) screen_.emplace();
    return screen_->draw(lines);
  }
  print(fmt::format("{}\n", fmt::join(lines, "\n")));
}

bool TerminalTalk::pause(Millis time) {
  const std::int64_t until_ns = monotonic_ns() + time.count() * 1'000'000;
  while (!stop_.asked() && monotonic_ns() < until_ns) {
    const char key = wait_for_key(stop_, screen_.has_value(), until_ns);
    if (key == 'q' || key == 'Q') return false;
  }
  return !stop_.asked();
}

void TerminalTalk::wipe() {
  if (!is_drawn_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  is_drawn_ = false;
}

std::string check_name(const std::string& name) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  if (name.empty() || name.size() > 64 || name.find_first_not_of(kLetters) != name.npos) {
    return "a name has 1 to 64 letters, digits, '.', '_' or '-'";
  }
  return "";
}

}  // namespace

void ClusterOptions::add_to(CliCommand command, bool changes) {
  command.add_text("--etcd", etcd, "URLS", "Members of etcd: http://a:2379,http://b:2379")
      .take_last();
  command.add_text("--name", name, "NAME", "Name of the cluster (default main)").check(check_name);
  command.add_text("--password", password, "PASSWORD", "Password of the nodes");
  command.add_text("--etcd-user", etcd_user, "USER", "User of etcd");
  command.add_text("--etcd-password", etcd_password, "PASSWORD", "Its password");
  command.add_text("--etcd-ca", etcd_ca, "FILE", "Authority that has signed etcd's certificates");
  command.add_text("--etcd-cert", etcd_cert, "FILE", "Certificate of this client");
  command.add_text("--etcd-key", etcd_key, "FILE", "Its key");
  command.add_flag("--json", is_json, "Print JSON");
  if (changes) command.add_flag("--yes,-y", is_sure, "Do not ask");
}

Result<EtcdOptions> ClusterOptions::etcd_options() const {
  const std::string urls = or_variable(etcd, "MAYFLY_ETCD");
  if (urls.empty()) {
    return Error{Code::invalid, "where is etcd? (say --etcd http://HOST:2379, or set MAYFLY_ETCD)"};
  }
  auto endpoints = read_etcd_endpoints(urls);
  if (!endpoints) return endpoints.error();
  EtcdOptions options;
  options.endpoints = *std::move(endpoints);
  options.prefix = etcd_prefix(name);
  options.user = etcd_user;
  options.password = or_variable(etcd_password, "MAYFLY_ETCD_PASSWORD");
  options.ca = etcd_ca;
  options.cert = etcd_cert;
  options.key = etcd_key;
  options.call_timeout = kEtcdCall;
  options.give_up_after = kEtcdPatience;
  return options;
}

Result<Exit> run_in_session(const ClusterOptions& options, const ClusterRun& run) {
  TerminalTalk talk;  // before any thread
  const auto etcd = options.etcd_options();
  if (!etcd) return etcd.error();
  const auto records = open_etcd_records(*etcd);
  if (!records) return records.error();
  RespNodes nodes(or_variable(options.password, "MAYFLY_PASSWORD"));
  const SystemClock clock;
  ClusterSession session{**records,    nodes,           talk,           clock,
                         options.name, options.is_json, options.is_sure};
  return run(session);
}

}  // namespace mayfly
