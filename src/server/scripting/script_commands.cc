// SPDX-License-Identifier: Apache-2.0
// EVAL and EVALSHA, SCRIPT, and MODULE, of which there is none.

#include <fmt/format.h>

#include "server/core/reclaimer.h"
#include "server/core/server_call.h"
#include "server/scripting/script_arguments.h"
#include "server/scripting/scripting.h"

namespace mayfly {
namespace {

constexpr std::string_view kNoScript = "NOSCRIPT No matching script. Please use EVAL.";

// ---- EVAL ----

ScriptRun run_of(Call& call) {
  return {.caller = server_call(call).client, .words = call.words(), .name = {}};
}

void run_script(Call& call, ScriptRun& run, const Script& script, bool is_read_only) {
  const std::optional<ScriptArguments> arguments = read_script_arguments(call);
  if (!arguments) return;
  ServerCall& here = server_call(call);
  if (!prepare_run(call, run, script.flags, is_read_only)) return;
  here.server.scripting.engine().run(run, script.function, arguments->keys, arguments->rest,
                                     call.reply());
  call.propagate_nothing();
}

void eval_script(Call& call, bool is_read_only) {
  if (!read_script_arguments(call)) return;
  ScriptRun run = run_of(call);
  const Result<Script*> script = parts_of(call).scripting.add(run, call.word(1), false);
  if (!script) return call.fail("ERR " + script.error().message);
  run_script(call, run, **script, is_read_only);
}

void eval_digest(Call& call, bool is_read_only) {
  if (!read_script_arguments(call)) return;
  const Script* const script = parts_of(call).scripting.find(call.word(1));
  if (script == nullptr) return call.fail(kNoScript);
  ScriptRun run = run_of(call);
  run_script(call, run, *script, is_read_only);
}

void eval(Call& call) { eval_script(call, false); }
void eval_ro(Call& call) { eval_script(call, true); }
void evalsha(Call& call) { eval_digest(call, false); }
void evalsha_ro(Call& call) { eval_digest(call, true); }

// ---- SCRIPT ----

void script_flush(Call& call) {
  const bool is_right =
      call.count() == 2 || (call.count() == 3 && (call.is(2, "sync") || call.is(2, "async")));
  if (!is_right) return call.fail("ERR SCRIPT FLUSH only support SYNC|ASYNC option");
  parts_of(call).scripting.flush();
  call.reply().ok();
}

void script_exists(Call& call) {
  call.reply().array(call.count() - 2);
  for (std::size_t i = 2; i < call.count(); ++i) {
    call.reply().integer(parts_of(call).scripting.find(call.word(i)) != nullptr ? 1 : 0);
  }
}

void script_load(Call& call) {
  ScriptRun run = run_of(call);
  const Result<Script*> script = parts_of(call).scripting.add(run, call.word(2), true);
  if (!script) return call.fail("ERR " + script.error().message);
  call.reply().bulk((*script)->sha1);
}

void script_show(Call& call) {
  const Script* const script = parts_of(call).scripting.find(call.word(2));
  if (script == nullptr) return call.fail(kNoScript);
  call.reply().bulk(script->code);
}

void script_kill(Call& call) {
  const Status killed = parts_of(call).scripting.kill(ScriptKind::script);
  if (!killed) return call.fail(killed.error().message);
  call.reply().ok();
}

// There is no debugger: only switching it off works.
void script_debug(Call& call) {
  if (call.is(2, "no")) return call.reply().ok();
  if (call.is(2, "yes") || call.is(2, "sync")) {
    return call.fail("ERR SCRIPT DEBUG: this server has no debugger for scripts");
  }
  call.fail("ERR Use SCRIPT DEBUG YES/SYNC/NO");
}

void module_list(Call& call) { call.reply().array(0); }

constexpr std::uint64_t kHelpFlags = flag::loading | flag::stale;
constexpr std::uint64_t kScriptFlags = flag::noscript | flag::stale | flag::skip_monitor;
constexpr std::uint32_t kEvalFlags =
    kScriptFlags | flag::may_replicate | flag::movablekeys | flag::no_mandatory_keys;
constexpr std::uint32_t kReadFlags =
    kScriptFlags | flag::readonly | flag::movablekeys | flag::no_mandatory_keys;
constexpr KeyRange kScriptKeys = {3, 0, 1, access::rw | access::access | access::update, 2};
constexpr KeyRange kReadKeys = {3, 0, 1, access::ro | access::access, 2};

// clang-format off
// Redis 6 and older send SCRIPT LOAD and SCRIPT FLUSH to replicas, and write them to files.
constexpr Command kScripts[] = {
    {"flush", script_flush, -2, flag::noscript | flag::stale | flag::from_primary, {}, "scripting",
     "2.6.0", "[mode:(ASYNC | SYNC)]", "Removes all scripts.", {}, "script"},
    {"exists", script_exists, -3, flag::noscript | flag::stale, {}, "scripting", "2.6.0", "sha1...",
     "Checks which scripts exist.", {}, "script"},
    {"load", script_load, 3, flag::noscript | flag::stale | flag::from_primary, {}, "scripting",
     "2.6.0", "script", "Compiles and keeps a script, and returns its digest.", {}, "script"},
    {"show", script_show, 3, flag::noscript | flag::stale, {}, "scripting", "8.0.0", "sha1",
     "Returns the text of a script.", {}, "script"},
    {"kill", script_kill, 2, flag::noscript | flag::allow_busy, {}, "scripting", "2.6.0", "",
     "Ends a script that runs.", {}, "script"},
    {"debug", script_debug, 3, flag::noscript, {}, "scripting", "3.2.0",
     "mode:(YES | SYNC | NO)", "Switches the debugger off; there is none.", {}, "script"},
    {"help", reply_help, 2, kHelpFlags, {}, "scripting", "5.0.0", "", "Prints this help.", {},
     "script"},
};

constexpr Command kModules[] = {
    {"list", module_list, 2, flag::admin | flag::noscript, {}, "server", "4.0.0", "",
     "Returns the modules; there are none.", {}, "module"},
    {"help", reply_help, 2, kHelpFlags, {}, "server", "5.0.0", "", "Prints this help.", {},
     "module"},
};

constexpr Command kScriptingCommands[] = {
    {"script", nullptr, -2, 0, {}, "scripting", "2.6.0", "", "Keeps scripts.",
     kScripts},
    {"module", nullptr, -2, 0, {}, "server", "4.0.0", "", "Modules; there are none.", kModules},
    {"eval", eval, -3, kEvalFlags, kScriptKeys, "scripting", "2.6.0",
     "script numkeys:int [key...] [arg...]", "Runs a script."},
    {"eval_ro", eval_ro, -3, kReadFlags, kReadKeys, "scripting", "7.0.0",
     "script numkeys:int [key...] [arg...]", "Runs a script that only reads."},
    {"evalsha", evalsha, -3, kEvalFlags, kScriptKeys, "scripting", "2.6.0",
     "sha1 numkeys:int [key...] [arg...]", "Runs a script by its digest."},
    {"evalsha_ro", evalsha_ro, -3, kReadFlags, kReadKeys, "scripting", "7.0.0",
     "sha1 numkeys:int [key...] [arg...]", "Runs a script that only reads, by its digest."},
};
// clang-format on

}  // namespace

std::span<const Command> script_commands() { return kScriptingCommands; }

}  // namespace mayfly
