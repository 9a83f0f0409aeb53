// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/dev/dev_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "cli/cluster/dev/dev_processes.h"
#include "cli/cluster/init_command.h"
#include "cli/cluster/watch/picture.h"
#include "tools/files.h"
#include "tools/scratch_directory.h"

namespace mayfly {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kEtcdMembers = 3;
constexpr Millis kStartWait{30'000};
constexpr Millis kSyncWait{10'000};
constexpr Millis kDevLook{500};

struct DevPlan {
  fs::path directory;
  fs::path etcd;     // the program
  fs::path program;  // this one
  std::vector<int> client_ports;
  std::vector<int> peer_ports;
  std::vector<int> node_ports;

  std::string etcd_name(std::size_t i) const {
    return fmt::format("etcd-{}", static_cast<char>('a' + i));
  }
  std::string urls() const;
  std::vector<std::string> etcd_words(std::size_t i) const;
  std::vector<std::string> node_words(std::size_t i) const;
};

std::string DevPlan::urls() const {
  std::string urls;
  for (const int port : client_ports) {
    urls += fmt::format("{}http://127.0.0.1:{}", urls.empty() ? "" : ",", port);
  }
  return urls;
}

std::vector<std::string> DevPlan::etcd_words(std::size_t i) const {
  const std::string client = fmt::format("http://127.0.0.1:{}", client_ports[i]);
  const std::string peer = fmt::format("http://127.0.0.1:{}", peer_ports[i]);
  std::string members;
  for (std::size_t j = 0; j < peer_ports.size(); ++j) {
    members +=
        fmt::format("{}{}=http://127.0.0.1:{}", j == 0 ? "" : ",", etcd_name(j), peer_ports[j]);
  }
  return {etcd.string(),
          "--name",
          etcd_name(i),
          "--data-dir",
          (directory / etcd_name(i)).string(),
          "--listen-client-urls",
          client,
          "--advertise-client-urls",
          client,
          "--listen-peer-urls",
          peer,
          "--initial-advertise-peer-urls",
          peer,
          "--initial-cluster",
          members,
          "--initial-cluster-state",
          "new",
          "--auto-compaction-retention",
          "1"};
}

std::vector<std::string> DevPlan::node_words(std::size_t i) const {
  return {program.string(),
          "serve",
          "--port",
          std::to_string(node_ports[i]),
          "--dir",
          (directory / fmt::format("node-{}", i + 1)).string(),
          "--cluster-enabled",
          "yes",
          "--cluster-etcd",
          urls(),
          "--save",
          ""};
}

Result<DevPlan> make_plan(const DevArgs& args, const fs::path& directory) {
  DevPlan plan;
  plan.directory = directory;
  const auto etcd = find_program("etcd");
  if (!etcd) {
    return Error{Code::not_found,
                 "etcd is not installed (on Debian and Ubuntu: apt install etcd-server)"};
  }
  plan.etcd = *etcd;
  std::error_code failed;
  plan.program = fs::read_symlink("/proc/self/exe", failed);
  const auto nodes = static_cast<std::size_t>(args.nodes);
  const auto ports = free_ports(2 * kEtcdMembers + nodes);
  if (!ports) return ports.error();
  const auto part = [&](std::size_t from, std::size_t count) {
    const auto begin = ports->begin() + static_cast<std::ptrdiff_t>(from);
    return std::vector<int>(begin, begin + static_cast<std::ptrdiff_t>(count));
  };
  plan.client_ports = part(0, kEtcdMembers);
  plan.peer_ports = part(kEtcdMembers, kEtcdMembers);
  plan.node_ports = part(2 * kEtcdMembers, nodes);
  return plan;
}

Status start_all(const DevPlan& plan, DevProcesses& processes) {
  for (std::size_t i = 0; i < kEtcdMembers; ++i) {
    const std::string name = plan.etcd_name(i);
    const Status started =
        processes.start(name, plan.etcd_words(i), plan.directory / (name + ".log"));
    if (!started) return started;
  }
  for (std::size_t i = 0; i < plan.node_ports.size(); ++i) {
    const std::string name = fmt::format("node-{}", i + 1);
    if (const Status made = make_directory(plan.directory / name); !made) return made;
    const Status started =
        processes.start(name, plan.node_words(i), plan.directory / (name + ".log"));
    if (!started) return started;
  }
  return Done{};
}

Error ended_early(const DevProcesses::Process& process) {
  const Result<std::string> log = read_file(process.log);
  constexpr std::size_t kShown = 2000;
  const std::string text = log ? log->substr(log->size() - std::min(log->size(), kShown)) : "";
  return {Code::io, fmt::format("{} has ended; its log says:\n{}", process.name, text)};
}

// Until all nodes are registered and live.
Status wait_for_nodes(ClusterSession& session, const DevPlan& plan, DevProcesses& processes) {
  const DevProcesses::Process* ended = nullptr;
  const bool is_done = wait_until(session, kStartWait, [&] {
    ended = processes.next_ended();
    if (ended != nullptr) return true;
    const Result<ClusterView> view = read_view(session);
    const std::size_t there = view ? view->lives().size() : 0;
    session.talk.progress(static_cast<double>(there) / static_cast<double>(plan.node_ports.size()),
                          view ? "starting servers" : "starting etcd");
    return there >= plan.node_ports.size();
  });
  if (ended != nullptr) return ended_early(*ended);
  if (is_done) return Done{};
  return Error{Code::io, session.talk.is_stopped() ? "stopped" : "the servers did not come up"};
}

// A picture in which all replicas are in sync, if that comes soon.
ClusterPicture wait_for_replicas(ClusterSession& session) {
  MoveRates rates;
  ClusterPicture picture;
  wait_until(session, kSyncWait, [&] {
    picture = take_picture(session, {}, nullptr, rates);
    return find_problems(picture.view).empty();
  });
  return picture;
}

std::string words_to_try(const DevPlan& plan, const DevProcesses& processes) {
  std::string text = "\n";
  for (std::size_t i = 0; i < processes.all().size(); ++i) {
    const DevProcesses::Process& process = processes.all()[i];
    const int port = i < kEtcdMembers ? plan.client_ports[i] : plan.node_ports[i - kEtcdMembers];
    text += fmt::format("  {:<7} port {:<5} pid {:<7} {}\n", process.name, port, process.pid,
                        process.log.string());
  }
  const DevProcesses::Process& first = processes.all()[kEtcdMembers];
  text += fmt::format(
      "\nTry, in another terminal:\n"
      "  export MAYFLY_ETCD={}\n"
      "  redis-cli -c -p {} set hello world\n"
      "  {} cluster status --watch\n"
      "  kill -9 {}                    one server: its shard is back in about three seconds\n"
      "  {} cluster failover a --yes\n"
      "  {} cluster reshard --from a --to b --slots 1000 --yes\n"
      "Ctrl-C stops everything.\n",
      plan.urls(), plan.node_ports[0], plan.program.string(), first.pid, plan.program.string(),
      plan.program.string());
  return text;
}

// For a shell.
std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+";
  if (!word.empty() && word.find_first_not_of(kPlain) == word.npos) return word;
  std::string text = "'";
  for (const char sign : word) sign == '\'' ? text.append("'\\''") : text.append(1, sign);
  return text + "'";
}

std::string command_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + quoted(word);
  return line;
}

// Until Ctrl-C. A process that ends is told of, with the way to start it again.
void run_until_stopped(ClusterSession& session, DevProcesses& processes) {
  while (session.talk.pause(kDevLook)) {
    while (const DevProcesses::Process* const ended = processes.next_ended()) {
      session.talk.note(fmt::format("{} (pid {}) has ended; to start it again:\n  {} >>{} 2>&1 &",
                                    ended->name, ended->pid, command_line(ended->words),
                                    quoted(ended->log.string())));
    }
  }
}

Result<Exit> run_all(const DevArgs& args, const DevPlan& plan, DevProcesses& processes,
                     ClusterSession& session) {
  if (const Status started = start_all(plan, processes); !started) return started.error();
  if (const Status there = wait_for_nodes(session, plan, processes); !there) return there.error();
  InitArgs init;
  init.replicas = args.replicas;
  init.lease_ms = args.lease_ms;
  for (const int port : plan.node_ports) init.nodes.push_back(fmt::format("127.0.0.1:{}", port));
  if (const auto made = run_init(init, session); !made) return made.error();
  const ClusterPicture picture = wait_for_replicas(session);
  const Colours colours(session.talk.has_colours());
  session.talk.print(fmt::format("{}\n", fmt::join(picture_lines(picture, colours), "\n")));
  session.talk.print(words_to_try(plan, processes));
  run_until_stopped(session, processes);
  session.talk.note("stopping");
  return Exit::ok;
}

}  // namespace

Result<Exit> run_dev(const DevArgs& args) {
  std::optional<ScratchDirectory> scratch;
  fs::path directory = args.directory;
  if (directory.empty()) {
    auto made = ScratchDirectory::make(fs::temp_directory_path());
    if (!made) return made.error();
    scratch.emplace(*std::move(made));
    directory = scratch->path();
  } else if (const Status made = make_directory(directory); !made) {
    return made.error();
  } else if (!fs::is_empty(directory)) {
    return Error{Code::invalid, fmt::format("the directory '{}' is not empty", args.directory)};
  }
  const auto plan = make_plan(args, fs::absolute(directory));
  if (!plan) return plan.error();
  ClusterOptions options;
  options.etcd = plan->urls();
  options.is_sure = true;
  DevProcesses processes;
  return run_in_session(
      options, [&](ClusterSession& session) { return run_all(args, *plan, processes, session); });
}

}  // namespace mayfly
