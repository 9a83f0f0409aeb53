// SPDX-License-Identifier: Apache-2.0
// The program `mayfly`.

#include <fcntl.h>

#include <cstdio>
#include <exception>

#include "bench/report/bench_command.h"
#include "cli/commands.h"
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

int run(int argc, char** argv) {
  Program program;
  StoreFile* const file = program.keep<StoreFile>();
  file->add_to_program(program.whole());
  program.begin_group("Server");
  add_serve_command(program);
  add_copy_commands(program, file);
  add_top_command(program, file);
  program.begin_group("Store file");
  add_key_commands(program, file);
  add_expiry_commands(program, file);
  add_expiring_command(program, file);
  add_scan_commands(program, file);
  add_family_commands(program, file);
  add_upkeep_commands(program, file);
  add_dump_command(program, file);
  add_load_command(program, file);
  add_txn_command(program, file);
  add_shell_command(program, file);
  program.begin_group("Other commands");
  add_rdb_command(program);
  const BenchCommand bench(program.app());
  program.on(CliCommand(&bench.app()), [&] { return exit_of(bench.run()); });
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
  try {
    return mayfly::run(argc, argv);
  } catch (const std::exception& failure) {  // out of memory, or stderr fails
    std::fputs("mayfly: ", stderr);
    std::fputs(failure.what(), stderr);
    std::fputs("\n", stderr);
    return static_cast<int>(mayfly::Exit::failed);
  }
}
