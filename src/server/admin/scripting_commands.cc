// SPDX-License-Identifier: Apache-2.0
// SCRIPT, FUNCTION, MODULE, EVAL and FCALL. There are no scripts here: commands that clients use to
// clean up work, the others reply with an error.

#include <fmt/format.h>

#include "server/core/server_call.h"

namespace mayfly {
namespace {

void script_flush(Call& call) {
  const bool is_right =
      call.count() == 2 || (call.count() == 3 && (call.is(2, "sync") || call.is(2, "async")));
  if (!is_right) return call.fail("ERR SCRIPT FLUSH only support SYNC|ASYNC option");
  call.reply().ok();
}

void script_exists(Call& call) {
  call.reply().array(call.count() - 2);
  for (std::size_t i = 2; i < call.count(); ++i) call.reply().integer(0);
}

void function_flush(Call& call) {
  const bool is_right =
      call.count() == 2 || (call.count() == 3 && (call.is(2, "sync") || call.is(2, "async")));
  if (!is_right) return call.fail("ERR FUNCTION FLUSH only supports SYNC|ASYNC option");
  call.reply().ok();
}

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

void function_stats(Call& call) {
  call.reply().map(2);
  call.reply().bulk("running_script");
  call.reply().null();
  call.reply().bulk("engines");
  call.reply().map(0);
}

void function_delete(Call& call) { call.fail("ERR Library not found"); }

void module_list(Call& call) { call.reply().array(0); }

void scripting_kill(Call& call) { call.fail("NOTBUSY No scripts in execution right now."); }

void scripting_unsupported(Call& call) {
  call.fail(fmt::format("ERR '{}' is not supported: scripts and functions cannot be run here",
                        call.full_name()));
}

// EVALSHA: clients send the script itself then, and get that error.
void evalsha(Call& call) { call.fail("NOSCRIPT No matching script. Please use EVAL."); }

void fcall(Call& call) { call.fail("ERR Function not found"); }

constexpr std::uint32_t kHelpFlags = flag::loading | flag::stale;
constexpr std::uint32_t kLoadFlags = flag::noscript | flag::write | flag::denyoom;
constexpr std::uint32_t kScriptFlags = flag::noscript | flag::stale | flag::skip_monitor;

constexpr std::uint32_t kKeysFlags = kScriptFlags | flag::movablekeys | flag::no_mandatory_keys;
constexpr KeyRange kScriptKeys = {3, 0, 1, access::rw | access::access | access::update, 2};
constexpr KeyRange kReadKeys = {3, 0, 1, access::ro | access::access, 2};

// clang-format off
constexpr Command kScripts[] = {
    {"flush", script_flush, -2, flag::noscript, {}, "scripting", "2.6.0", "[mode:(ASYNC | SYNC)]",
     "Removes all scripts; there are none.", {}, "script"},
    {"exists", script_exists, -3, flag::noscript, {}, "scripting", "2.6.0", "sha1...",
     "Checks which scripts exist.", {}, "script"},
    {"load", scripting_unsupported, 3, flag::noscript | flag::stale, {}, "scripting", "2.6.0",
     "script", "Loads a script; not supported yet.", {}, "script"},
    {"kill", scripting_kill, 2, flag::noscript | flag::allow_busy, {}, "scripting", "2.6.0", "",
     "Ends a script that runs.", {}, "script"},
    {"debug", scripting_unsupported, 3, flag::noscript, {}, "scripting", "3.2.0",
     "mode:(YES | SYNC | NO)", "Debugs scripts; not supported yet.", {}, "script"},
    {"help", reply_help, 2, kHelpFlags, {}, "scripting", "5.0.0", "", "Prints this help.", {},
     "script"},
};

constexpr Command kFunctions[] = {
    {"flush", function_flush, -2, flag::noscript | flag::write, {}, "scripting", "7.0.0",
     "[mode:(ASYNC | SYNC)]", "Removes all functions; there are none.", {}, "function"},
    {"list", function_list, -2, flag::noscript, {}, "scripting", "7.0.0",
     "[LIBRARYNAME library-name-pattern] [WITHCODE]", "Returns the libraries of functions.", {},
     "function"},
    {"stats", function_stats, 2, flag::noscript | flag::allow_busy, {}, "scripting", "7.0.0", "",
     "Returns the function that runs.", {}, "function"},
    {"delete", function_delete, 3, flag::noscript | flag::write, {}, "scripting", "7.0.0",
     "library-name", "Removes a library.", {}, "function"},
    {"load", scripting_unsupported, -3, kLoadFlags, {}, "scripting", "7.0.0",
     "[REPLACE] function-code", "Loads a library; not supported yet.", {}, "function"},
    {"restore", scripting_unsupported, -3, kLoadFlags, {}, "scripting", "7.0.0",
     "serialized-value [policy:(FLUSH | APPEND | REPLACE)]",
     "Restores libraries from a dump; not supported yet.", {}, "function"},
    {"dump", scripting_unsupported, 2, flag::noscript, {}, "scripting", "7.0.0", "",
     "Dumps all libraries; not supported yet.", {}, "function"},
    {"kill", scripting_kill, 2, flag::noscript | flag::allow_busy, {}, "scripting", "7.0.0", "",
     "Ends a function that runs.", {}, "function"},
    {"help", reply_help, 2, kHelpFlags, {}, "scripting", "7.0.0", "", "Prints this help.", {},
     "function"},
};

constexpr Command kModules[] = {
    {"list", module_list, 2, flag::admin | flag::noscript, {}, "server", "4.0.0", "",
     "Returns the modules; there are none.", {}, "module"},
    {"help", reply_help, 2, kHelpFlags, {}, "server", "5.0.0", "", "Prints this help.", {},
     "module"},
};

constexpr Command kScriptingCommands[] = {
    {"script", nullptr, -2, 0, {}, "scripting", "2.6.0", "", "Keeps scripts; there are none.",
     kScripts},
    {"function", nullptr, -2, 0, {}, "scripting", "7.0.0", "", "Keeps functions; there are none.",
     kFunctions},
    {"module", nullptr, -2, 0, {}, "server", "4.0.0", "", "Modules; there are none.", kModules},
    {"eval", scripting_unsupported, -3, kKeysFlags, kScriptKeys, "scripting", "2.6.0",
     "script numkeys:int [key...] [arg...]", "Runs a script; not supported yet."},
    {"eval_ro", scripting_unsupported, -3, kKeysFlags | flag::readonly, kReadKeys, "scripting",
     "7.0.0", "script numkeys:int [key...] [arg...]",
     "Runs a script that only reads; not supported yet."},
    {"evalsha", evalsha, -3, kKeysFlags, kScriptKeys, "scripting", "2.6.0",
     "sha1 numkeys:int [key...] [arg...]", "Runs a script by its digest; not supported yet."},
    {"evalsha_ro", evalsha, -3, kKeysFlags | flag::readonly, kReadKeys, "scripting", "7.0.0",
     "sha1 numkeys:int [key...] [arg...]", "Runs a script that only reads; not supported yet."},
    {"fcall", fcall, -3, kKeysFlags, kScriptKeys, "scripting", "7.0.0",
     "function numkeys:int [key...] [arg...]", "Calls a function; not supported yet."},
    {"fcall_ro", fcall, -3, kKeysFlags | flag::readonly, kReadKeys, "scripting", "7.0.0",
     "function numkeys:int [key...] [arg...]",
     "Calls a function that only reads; not supported yet."},
};
// clang-format on

}  // namespace

std::span<const Command> scripting_commands() { return kScriptingCommands; }

}  // namespace mayfly
