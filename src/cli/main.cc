// SPDX-License-Identifier: Apache-2.0
// The program `mayfly`: all its commands.

#include <fcntl.h>
#include <nss.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/completion_command.h"
#include "cli/manual_command.h"
#include "cli/program.h"
#include "cli/rdb/rdb_command.h"
#include "cli/serve_command.h"
#include "cli/server_commands.h"
#include "cli/store/store_commands.h"

namespace mayfly {
namespace {

// A stream that was closed by whoever started us (`>&-`) stays useless, but its number is taken: a
// store that is opened next would get it, and what is printed would be written into the store.
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
    "All words go to mayfly-bench, a program of its own.\n"
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
  program.begin_group("A server");
  add_serve_command(program);
  add_server_commands(program, file);
  program.begin_group("A store in a file");
  add_store_commands(program, file);
  program.begin_group("Files, measurements, help");
  add_rdb_command(program);
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
  program.add_other_names();
  return program.run(argc, argv);
}

}  // namespace
}  // namespace mayfly

// Read by jemalloc: pages are given back to the system by a thread of its own, not in the middle of
// a request.
extern "C" {
extern const char* const malloc_conf;
const char* const malloc_conf = "background_thread:true";
}

int main(int argc, char** argv) {
  mayfly::occupy_closed_streams();
  mayfly::use_linked_name_services();
  try {
    return mayfly::run(argc, argv);
  } catch (const std::exception& failure) {  // memory has run out, or nobody hears complaints
    std::fputs("mayfly: ", stderr);
    std::fputs(failure.what(), stderr);
    std::fputs("\n", stderr);
    return static_cast<int>(mayfly::Exit::failed);
  }
}
