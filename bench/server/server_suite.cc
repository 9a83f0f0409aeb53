// SPDX-License-Identifier: Apache-2.0
#include "bench/server/server_suite.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "bench/report/option_values.h"
#include "bench/server/measurements.h"
#include "tools/terminal/terminal.h"

namespace mayfly::bench {
namespace {

struct Part {
  std::string_view name;
  double seconds;  // that it takes with the default sizes and one peer, about
  void (*measure)(ServerBench&);
};

constexpr Part kParts[] = {{"speed", 170, measure_speed},
                           {"sets", 150, measure_sets},
                           {"types", 200, measure_types},
                           {"scripts", 60, measure_scripts},
                           {"tracking", 25, measure_tracking},
                           {"memory", 60, measure_memory},
                           {"ontime", 90, measure_on_time},
                           {"expired", 180, measure_expired},
                           {"expirylog", 60, measure_expiry_log},
                           {"ttlstats", 30, measure_ttl_stats},
                           {"stall", 90,
                            [](ServerBench& bench) {
                              measure_stalls(bench);
                              measure_growth(bench);
                            }},
                           {"hlen", 5, measure_hlen},
                           {"persist", 300, measure_persistence}};

constexpr std::size_t kReferenceGrowthKeys = 10'000'000;

void make_quick(ServerPlan& plan) {
  plan.rounds = 1;
  plan.requests = 1000;
  plan.key_range = 1000;
  plan.set_members = 1000;
  plan.pair_members = 1000;
  plan.pair_requests = 1000;
  plan.hand_overs = 10;
  plan.blocked_clients = 100;
  plan.tracking_clients = 20;
  plan.tracked_keys = 1000;
  plan.memory_fields = 10'000;
  plan.idle_sizes = {0, 1000};
  plan.due = 100;
  plan.patience = std::chrono::seconds(2);
  plan.expired_keys = 10'000;
  plan.expired_ttl = std::chrono::seconds(1);
  plan.expired_watch = std::chrono::seconds(2);
  plan.stall_members = 10'000;
  plan.growth_keys = 20'000;
  plan.hlen_fields = 10'000;
  plan.hlen_calls = 100;
  plan.persist_fields = 20'000;
}

// The program beside this one, or the one in PATH.
std::string find_mayfly(const std::string& given) {
  if (!given.empty()) return given;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "mayfly";
  if (::access(beside.c_str(), X_OK) == 0) return beside.string();
  const std::string found = find_program("mayfly");
  if (!found.empty()) return found;
  throw Failure("no program 'mayfly' beside mayfly-bench or in PATH. Use --mayfly PROGRAM");
}

ServerProgram peer_of(const std::string& option) {
  const std::size_t equals = option.find('=');
  ServerProgram program;
  if (equals != std::string::npos) {
    program = {option.substr(0, equals), split_words(std::string_view(option).substr(equals + 1))};
  }
  if (program.name.empty() || program.words.empty()) {
    throw Failure(fmt::format(
        "--peer: '{}' is not NAME=PROGRAM, such as valkey=/usr/bin/valkey-server", option));
  }
  if (program.is_ours()) throw Failure("--peer: 'mayfly' is the name of ours; choose another");
  return program;
}

// "7.0.15", as the server reports it.
std::string version_of(RespClient& client) {
  const ReplyValue info = must(client.call("INFO", "server"));
  for (const std::string_view name : {"mayfly_version", "valkey_version", "redis_version"}) {
    const std::string_view version = info_value(info.text, name);
    if (!version.empty()) return std::string(version);
  }
  return "of an unknown version";
}

}  // namespace

bool ServerPlan::has(std::string_view part) const {
  return std::ranges::find(parts, part) != parts.end();
}

std::vector<ServerProgram> ServerPlan::servers_with(bool ServerProgram::*commands) const {
  std::vector<ServerProgram> some;
  std::ranges::copy_if(servers, std::back_inserter(some), commands);
  return some;
}

std::vector<std::string_view> server_parts() {
  std::vector<std::string_view> names;
  for (const Part& part : kParts) names.push_back(part.name);
  return names;
}

ServerPlan make_server_plan(const ServerOptions& options) {
  if (options.quick && options.full) throw Failure("--quick and --full exclude each other");
  ServerPlan plan;
  if (options.full) plan.growth_keys = kReferenceGrowthKeys;
  if (options.quick) make_quick(plan);
  read_number("--rounds", options.rounds, 1, 100, plan.rounds);
  if (!options.wait.empty()) {
    plan.patience = std::chrono::seconds(must(parse_number("--wait", options.wait, 1, 600)));
  }
  if (!options.requests.empty()) plan.requests = parse_size("--requests", options.requests);
  if (!options.keys.empty()) {  // the parts that are about many entries share this
    plan.growth_keys = plan.persist_fields = plan.expired_keys =
        parse_size("--keys", options.keys, 1000);
  }
  const std::vector<std::string_view> names = server_parts();
  for (const std::size_t place : chosen("--only", options.only, names)) {
    plan.parts.push_back(names[place]);
  }
  for (const std::string& peer : options.peers) plan.servers.push_back(peer_of(peer));
  return plan;
}

void find_servers(const ServerOptions& options, ServerPlan& plan, Results& results) {
  const bool has_speed = plan.has("speed") || plan.has("sets") || plan.has("persist");
  if (has_speed && find_program("redis-benchmark").empty()) {
    throw Failure(
        "redis-benchmark is not installed, which measures the speed. Install it (apt-get install "
        "redis-tools), or measure the rest: --only memory,ontime,expired,stall,hlen");
  }
  plan.servers.insert(plan.servers.begin(), {"mayfly", {find_mayfly(options.mayfly), "serve"}});
  if (options.peers.empty() && !find_program("redis-server").empty()) {
    plan.servers.push_back({"redis-server", {"redis-server"}});
  }
  for (ServerProgram& program : plan.servers) {
    const ServerChild server(program);
    RespClient client = server.connect();
    program.has_field_ttl = must(knows_command(client, "HSETEX"));
    program.has_sets = must(knows_command(client, "ZADD"));
    program.has_lists = must(knows_command(client, "XADD"));
    program.has_scripts = must(knows_command(client, "EVALSHA"));
    program.has_member_ttl = must(knows_command(client, "ZADDEX"));
    results.systems.emplace_back(
        program.name,
        fmt::format("{} {}{}", std::filesystem::path(program.words.front()).filename().string(),
                    version_of(client),
                    program.has_field_ttl ? "" : "; no TTLs of fields: HSET instead of HSETEX"));
  }
  if (plan.servers.size() == 1) {
    results.notes.emplace_back(
        "No server to compare with: `make bench` installs redis-server; or use --peer");
  }
}

void run_server(const ServerPlan& plan, Results& results) {
  double total = 0;
  for (const Part& part : kParts) total += plan.has(part.name) ? part.seconds : 0;
  Progress progress(stderr, is_terminal(STDERR_FILENO), total);
  const SystemClock clock;
  const Moments moments(clock);
  ServerBench bench{plan, moments, results, progress};
  for (const Part& part : kParts) {
    if (!plan.has(part.name)) continue;
    part.measure(bench);
    progress.add(part.seconds);
  }
  results.seconds = progress.seconds();
}

}  // namespace mayfly::bench
