// SPDX-License-Identifier: Apache-2.0
// SCRIPT, FUNCTION, EVAL and FCALL where there are no scripts: what clients use to clean up works,
// the rest says what is missing.

#include <fmt/format.h>

#include "server/admin/compatibility_handlers.h"
#include "server/admin/help.h"
#include "server/core/server.h"

namespace mayfly {

// SCRIPT FLUSH [ASYNC | SYNC]
void script_flush(Call& call) {
  const bool is_right =
      call.count() == 2 || (call.count() == 3 && (call.is(2, "sync") || call.is(2, "async")));
  if (!is_right) return call.fail("ERR SCRIPT FLUSH only support SYNC|ASYNC option");
  call.reply().ok();
}

// SCRIPT EXISTS sha1 [sha1 ...]
void script_exists(Call& call) {
  call.reply().array(call.count() - 2);
  for (std::size_t i = 2; i < call.count(); ++i) call.reply().integer(0);
}

void script_help(Call& call) {
  static constexpr std::string_view kLines[] = {
      "EXISTS <sha1> [<sha1> ...]",
      "    Tells which scripts are there, which is none.",
      "FLUSH [ASYNC | SYNC]",
      "    Does nothing: there are no scripts.",
  };
  reply_help(call, "SCRIPT", kLines);
}

// FUNCTION FLUSH [ASYNC | SYNC]
void function_flush(Call& call) {
  const bool is_right =
      call.count() == 2 || (call.count() == 3 && (call.is(2, "sync") || call.is(2, "async")));
  if (!is_right) return call.fail("ERR FUNCTION FLUSH only supports SYNC|ASYNC option");
  call.reply().ok();
}

// FUNCTION LIST [LIBRARYNAME pattern] [WITHCODE]
void function_list(Call& call) {
  for (std::size_t i = 2; i < call.count(); ++i) {
    if (call.is(i, "withcode")) continue;
    if (!call.is(i, "libraryname")) {
      return call.fail(fmt::format("ERR Unknown argument {:.128}", call.word(i)));
    }
    if (++i == call.count()) return call.fail("ERR library name argument was not given");
  }
  call.reply().array(0);
}

// FUNCTION STATS
void function_stats(Call& call) {
  call.reply().map(2);
  call.reply().bulk("running_script");
  call.reply().null();
  call.reply().bulk("engines");
  call.reply().map(0);
}

// FUNCTION DELETE name
void function_delete(Call& call) { call.fail("ERR Library not found"); }

void function_help(Call& call) {
  static constexpr std::string_view kLines[] = {
      "FLUSH [ASYNC | SYNC]",
      "    Does nothing: there are no functions.",
      "LIST [LIBRARYNAME <pattern>] [WITHCODE]",
      "    Returns the libraries, of which there are none.",
      "STATS",
      "    Tells what runs, which is nothing.",
  };
  reply_help(call, "FUNCTION", kLines);
}

void module_list(Call& call) { call.reply().array(0); }

void module_help(Call& call) {
  static constexpr std::string_view kLines[] = {
      "LIST",
      "    Returns the modules, of which there are none.",
  };
  reply_help(call, "MODULE", kLines);
}

// SCRIPT KILL, FUNCTION KILL
void scripting_kill(Call& call) { call.fail("NOTBUSY No scripts in execution right now."); }

void scripting_unsupported(Call& call) {
  call.fail(fmt::format("ERR '{}' is not supported: scripts and functions cannot be run here",
                        call.full_name()));
}

// EVALSHA: clients send the script itself then, and learn why that does not help.
void evalsha(Call& call) { call.fail("NOSCRIPT No matching script. Please use EVAL."); }

// FCALL
void fcall(Call& call) { call.fail("ERR Function not found"); }

}  // namespace mayfly
