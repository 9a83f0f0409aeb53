// SPDX-License-Identifier: Apache-2.0
// The program `mayfly`.

#include <fcntl.h>
#include <nss.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/program.h"
#include "cli/secret_words.h"
#include "cli/store/store_file.h"

namespace mayfly {
namespace {

// A standard stream may be closed (`>&-`). A store opened next would get its descriptor, and output
// would be written into the store. /dev/null takes the descriptor instead.
void occupy_closed_streams() {
  for (const int stream : {0, 1, 2}) {
    if (::fcntl(stream, F_GETFD) == -1)
      (void)::open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
  }
}

// A static program cannot load the name services of the machine, which were built for that
// machine's C library: it uses /etc/hosts and DNS, which are linked in.
void use_linked_name_services() {
#ifdef MAYFLY_STATIC
  __nss_configure_lookup("hosts", "files dns");
  __nss_configure_lookup("passwd", "files");
#endif
}

constexpr const char* kBenchExamples =
    "All arguments are passed to mayfly-bench, a separate program.\n"
    "\n"
    "Examples:\n"
    "  mayfly bench expiry    the same as mayfly-bench expiry\n"
    "  mayfly bench store --help";

// Becomes mayfly-bench: the one beside this program, or the one in PATH.
Result<Exit> run_bench(std::vector<std::string> words) {
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv((self.parent_path() / "mayfly-bench").c_str(), pointers.data());
  ::execvp("mayfly-bench", pointers.data());
  return Error{
      Code::not_found,
      "mayfly-bench is not installed: `make bench` in the source tree of Mayfly builds it"};
}

int run(int argc, char** argv) {
  Program program;
  StoreFile* const file = program.keep<StoreFile>();
  file->add_to_program(program.whole());
  program.begin_group("Server");
  add_serve_command(program);
  add_copy_commands(program, file);
  add_top_command(program, file);
  add_cluster_commands(program);
  program.begin_group("Store file");
  add_key_commands(program, file);
  add_expiry_commands(program, file);
  add_expiring_command(program, file);
  add_scan_commands(program, file);
  add_family_commands(program, file);
  add_maintenance_commands(program, file);
  add_dump_command(program, file);
  add_load_command(program, file);
  add_txn_command(program, file);
  add_shell_command(program, file);
  program.begin_group("Other commands");
  add_rdb_command(program);
  add_aof_command(program);
  const CliCommand bench =
      program.add("bench", "Measure Mayfly on this machine (mayfly-bench)", kBenchExamples);
  bench.prefix_command();
  program.on(bench, [bench] {
    std::vector<std::string> words = bench.remaining();
    words.insert(words.begin(), "mayfly-bench");
    return run_bench(std::move(words));
  });
  add_completion_commands(program);
  add_manual_command(program);
  program.add_help_command();
  program.add_aliases();
  return program.run(argc, argv);
}

}  // namespace
}  // namespace mayfly

// Read by jemalloc: a background thread returns pages to the system, not a request.
extern "C" {
extern const char* const malloc_conf;
const char* const malloc_conf = "background_thread:true";
}

int main(int argc, char** argv) {
  mayfly::occupy_closed_streams();
  mayfly::use_linked_name_services();
  try {
    std::vector<std::string> words = mayfly::take_words(argc, argv);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return mayfly::run(argc, pointers.data());
  } catch (const std::exception& failure) {  // out of memory, or stderr fails
    std::fputs("mayfly: ", stderr);
    std::fputs(failure.what(), stderr);
    std::fputs("\n", stderr);
    return static_cast<int>(mayfly::Exit::failed);
  }
}
