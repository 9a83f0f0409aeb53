// SPDX-License-Identifier: Apache-2.0
// A register of etcd by a line a command, for tests/cluster/etcd_register_test.py.
//
//   etcd_register PREFIX ENDPOINTS [user=U] [password=P] [ca=FILE] [cert=FILE] [key=FILE]
//
//   read
//   commit KEY=VERSION ... : KEY=VALUE KEY ...      a KEY alone is deleted
//   watch
//   announce KEY VALUE
//   stats
//   status                                          of etcd's members
//
// Answers are lines: `read VERSION KEY=VALUE@VERSION ...` or `failed REASON`; `done VERSION`,
// `refused KEY=VALUE@VERSION ...` or `unknown REASON`; `change KEY=VALUE@VERSION ...` at any time.
// Values have no spaces. At the end of the input the register is closed: `closed MS`.

#include "etcd/etcd_register.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "etcd/etcd_status.h"
#include "mayfly/internal/stopwatch.h"

namespace {

using mayfly::CommitAnswer;
using mayfly::CommitOutcome;
using mayfly::EtcdOptions;
using mayfly::Register;
using mayfly::RegisterCommit;
using mayfly::RegisterEntry;

void print(const std::vector<RegisterEntry>& entries) {
  for (const RegisterEntry& entry : entries) {
    std::cout << ' ' << entry.key;
    if (entry.value) std::cout << '=' << *entry.value;
    std::cout << '@' << entry.version;
  }
  std::cout << std::endl;
}

RegisterCommit parse_commit(std::istream& words) {
  RegisterCommit commit;
  bool is_put = false;
  for (std::string word; words >> word;) {
    if (word == ":") {
      is_put = true;
      continue;
    }
    const std::size_t equal = word.find('=');
    const std::string key = word.substr(0, equal);
    if (!is_put) {
      commit.compares.push_back({key, std::stoull(word.substr(equal + 1))});
    } else if (equal == std::string::npos) {
      commit.puts.push_back({key, std::nullopt});
    } else {
      commit.puts.push_back({key, word.substr(equal + 1)});
    }
  }
  return commit;
}

void on_commit(const CommitAnswer& answer) {
  switch (answer.outcome) {
    case CommitOutcome::done:
      std::cout << "done " << answer.version << std::endl;
      break;
    case CommitOutcome::refused:
      std::cout << "refused";
      print(answer.current);
      break;
    case CommitOutcome::unknown:
      std::cout << "unknown " << answer.error << std::endl;
      break;
  }
}

void print_status(const EtcdOptions& options) {
  const auto members = mayfly::etcd_status(options);
  if (!members) std::cout << "status " << members.error().message << std::endl;
  if (!members) return;
  std::cout << "status";
  for (const auto& member : *members) {
    std::cout << ' ' << member.endpoint << ',' << member.name << ',' << member.version << ','
              << (member.is_leader ? "leader" : "member") << ',' << member.database_bytes << ','
              << member.error;
  }
  std::cout << std::endl;
}

void run(Register& records, const EtcdOptions& options, const std::string& line) {
  std::istringstream words(line);
  std::string command;
  words >> command;
  if (command == "read") {
    records.read([](const auto& snapshot) {
      if (!snapshot) {
        std::cout << "failed " << snapshot.error().message << std::endl;
        return;
      }
      std::cout << "read " << snapshot->version;
      print(snapshot->entries);
    });
  } else if (command == "commit") {
    records.commit(parse_commit(words), on_commit);
  } else if (command == "watch") {
    records.watch([](const std::vector<RegisterEntry>& entries) {
      std::cout << "change";
      print(entries);
    });
  } else if (command == "announce") {
    std::string key;
    std::string value;
    words >> key >> value;
    records.announce(key, value);
  } else if (command == "status") {
    print_status(options);
  } else if (command == "stats") {
    const mayfly::RegisterStats stats = records.stats();
    std::cout << "stats connected=" << stats.is_connected << " p50=" << stats.latency_ms_p50
              << " p99=" << stats.latency_ms_p99 << " unknown=" << stats.unknown
              << " restarts=" << stats.watch_restarts << " error=" << stats.error << std::endl;
  }
}

// Runs the lines of the standard input, and hands out answers meanwhile.
void serve(Register& records, const EtcdOptions& options, int bell) {
  std::string input;
  std::array<pollfd, 2> files{{{0, POLLIN, 0}, {bell, POLLIN, 0}}};
  while (true) {
    ::poll(files.data(), files.size(), -1);
    if (files[1].revents != 0) {
      eventfd_t count = 0;
      ::eventfd_read(bell, &count);
      records.deliver();
    }
    if (files[0].revents == 0) continue;
    std::array<char, 4096> buffer{};
    const ssize_t size = ::read(0, buffer.data(), buffer.size());
    if (size <= 0) return;
    input.append(buffer.data(), static_cast<std::size_t>(size));
    for (std::size_t end = 0; (end = input.find('\n')) != std::string::npos;) {
      run(records, options, input.substr(0, end));
      input.erase(0, end + 1);
    }
  }
}

// Whether `word` names an option.
bool set_option(EtcdOptions& options, const std::string& word) {
  const std::size_t equal = word.find('=');
  for (const auto& [name, option] :
       {std::pair("user", &options.user), std::pair("password", &options.password),
        std::pair("ca", &options.ca), std::pair("cert", &options.cert),
        std::pair("key", &options.key)}) {
    if (word.substr(0, equal) != name || equal == std::string::npos) continue;
    *option = word.substr(equal + 1);
    return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  auto endpoints = mayfly::parse_etcd_endpoints(argv[2]);
  if (!endpoints) {
    std::cout << endpoints.error().message << std::endl;
    return 1;
  }
  EtcdOptions options;
  options.endpoints = *endpoints;
  options.prefix = argv[1];
  for (int i = 3; i < argc; ++i) {
    if (!set_option(options, argv[i])) return 2;
  }
  const int bell = ::eventfd(0, 0);
  auto opened = mayfly::open_etcd_register(options, [bell] { ::eventfd_write(bell, 1); });
  if (!opened) {
    std::cout << opened.error().message << std::endl;
    return 1;
  }
  serve(**opened, options, bell);
  const std::int64_t begun = mayfly::monotonic_ns();
  opened->reset();
  std::cout << "closed " << (mayfly::monotonic_ns() - begun) / 1'000'000 << std::endl;
  return 0;
}
