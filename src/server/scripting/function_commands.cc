// SPDX-License-Identifier: Apache-2.0
// FUNCTION and FCALL.

#include <fmt/format.h>

#include "commands/scan_options.h"
#include "mayfly/internal/stopwatch.h"
#include "persist/rdb/rdb_functions.h"
#include "resp/glob.h"
#include "server/core/server_call.h"
#include "server/scripting/functions.h"
#include "server/scripting/script_arguments.h"
#include "server/scripting/scripting.h"

namespace mayfly {
namespace {

Functions& functions_of(Call& call) { return parts_of(call).scripting.functions(); }

// ---- FCALL ----

void call_function(Call& call, bool is_read_only) {
  const Function* const function = functions_of(call).find(call.word(1));
  if (function == nullptr) return call.fail("ERR Function not found");
  const std::optional<ScriptArguments> arguments =
      read_script_arguments(call, "ERR Bad number of keys provided");
  if (!arguments) return;
  ScriptRun run{.caller = client_of(call), .words = call.words(), .name = function->name};
  if (!prepare_run(call, run, function->flags, is_read_only)) return;
  functions_of(call).engine().run(run, function->callback, arguments->keys, arguments->rest,
                                  call.reply());
  call.propagate_nothing();
}

void fcall(Call& call) { call_function(call, false); }
void fcall_ro(Call& call) { call_function(call, true); }

// ---- FUNCTION ----

void function_load(Call& call) {
  bool replaces = false;
  std::size_t i = 2;
  for (; i + 1 < call.count(); ++i) {
    if (!call.is(i, "replace")) {
      return call.fail(fmt::format("ERR Unknown option given: {:.128}", call.word(i)));
    }
    replaces = true;
  }
  if (const Status status = check_code_size(client_of(call), call.word(i)); !status) {
    return call.fail("ERR " + status.error().message);
  }
  const Result<std::string> name = functions_of(call).load(call.word(i), replaces);
  if (!name) return call.fail("ERR " + name.error().message);
  call.count_changes(1);
  call.reply().bulk(*name);
}

void function_delete(Call& call) {
  if (!functions_of(call).erase(call.word(2))) return call.fail("ERR Library not found");
  call.count_changes(1);
  call.reply().ok();
}

void fail_count(Call& call) {
  call.fail(fmt::format(
      "ERR unknown subcommand or wrong number of arguments for '{}'. Try FUNCTION HELP.",
      call.word(1)));
}

void function_flush(Call& call) {
  if (call.count() > 3) return fail_count(call);
  const bool is_right = call.count() == 2 || call.is(2, "sync") || call.is(2, "async");
  if (!is_right) return call.fail("ERR FUNCTION FLUSH only supports SYNC|ASYNC option");
  functions_of(call).flush();
  call.count_changes(1);
  call.reply().ok();
}

void reply_library(Call& call, const Library& library, bool with_code) {
  Reply& reply = call.reply();
  reply.map(with_code ? 4 : 3);
  reply.bulk("library_name");
  reply.bulk(library.name);
  reply.bulk("engine");
  reply.bulk("LUA");
  reply.bulk("functions");
  reply.array(library.functions.size());
  for (const auto& [name, function] : library.functions) {
    reply.map(3);
    reply.bulk("name");
    reply.bulk(name);
    reply.bulk("description");
    function.description ? reply.bulk(*function.description) : reply.null();
    reply.bulk("flags");
    const std::vector<std::string_view> flags = script_flag_names(function.flags);
    reply.set(flags.size());
    for (const std::string_view flag : flags) reply.simple(flag);
  }
  if (!with_code) return;
  reply.bulk("library_code");
  reply.bulk(library.code);
}

void function_list(Call& call) {
  bool with_code = false;
  std::optional<GlobPattern> pattern;
  for (std::size_t i = 2; i < call.count(); ++i) {
    if (!with_code && call.is(i, "withcode")) {
      with_code = true;
    } else if (!pattern && call.is(i, "libraryname")) {
      if (++i == call.count()) return call.fail("ERR library name argument was not given");
      if (fails_pattern(call, call.word(i))) return;
      pattern.emplace(call.word(i));
    } else {
      return call.fail(fmt::format("ERR Unknown argument {:.128}", call.word(i)));
    }
  }
  std::size_t count = 0;
  const std::size_t place = call.reply().defer();
  for (const auto& [name, library] : functions_of(call).libraries()) {
    if (pattern && !pattern->matches(name)) continue;
    reply_library(call, *library, with_code);
    ++count;
  }
  call.reply().array_at(place, count);
}

void function_stats(Call& call) {
  Reply& reply = call.reply();
  const Scripting& scripting = parts_of(call).scripting;
  reply.map(2);
  reply.bulk("running_script");
  if (const ScriptRun* const run = scripting.current()) {
    reply.map(3);
    reply.bulk("name");
    reply.bulk(run->name);
    reply.bulk("command");
    reply.array(run->words.size());
    for (const std::string_view word : run->words) reply.bulk(word);
    reply.bulk("duration_ms");
    reply.integer((monotonic_ns() - run->began_ns) / 1'000'000);
  } else {
    reply.null();
  }
  reply.bulk("engines");
  reply.map(1);
  reply.bulk("LUA");
  reply.map(2);
  reply.bulk("libraries_count");
  reply.integer(static_cast<std::int64_t>(functions_of(call).libraries().size()));
  reply.bulk("functions_count");
  reply.integer(static_cast<std::int64_t>(functions_of(call).count()));
}

void function_kill(Call& call) {
  const Status killed = parts_of(call).scripting.kill(ScriptKind::function);
  if (!killed) return call.fail(killed.error().message);
  call.reply().ok();
}

void function_dump(Call& call) { call.reply().bulk(dump_functions(functions_of(call).codes())); }

void function_restore(Call& call) {
  if (call.count() > 4) return fail_count(call);
  const bool flushes = call.is(3, "flush");
  const bool replaces = call.is(3, "replace");
  if (call.count() == 4 && !flushes && !replaces && !call.is(3, "append")) {
    return call.fail(
        "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.");
  }
  const Result<std::vector<std::string>> codes = read_functions(call.word(2));
  if (!codes) return call.fail("ERR " + codes.error().message);
  for (const std::string& code : *codes) {
    const Status status = check_code_size(client_of(call), code);
    if (!status) return call.fail("ERR " + status.error().message);
  }
  const Status status = functions_of(call).restore(*codes, flushes, replaces);
  if (!status) return call.fail("ERR " + status.error().message);
  call.count_changes(1);
  call.reply().ok();
}

constexpr std::uint64_t kFunctionHelp = flag::loading | flag::stale;
constexpr std::uint64_t kWriteFlags = flag::noscript | flag::write;
constexpr std::uint64_t kLoadFlags = kWriteFlags | flag::denyoom;
constexpr std::uint64_t kCallFlags =
    flag::noscript | flag::stale | flag::skip_monitor | flag::movablekeys | flag::no_mandatory_keys;
constexpr KeyRange kFunctionKeys = {3, 0, 1, access::rw | access::access | access::update, 2};
constexpr KeyRange kFunctionReadKeys = {3, 0, 1, access::ro | access::access, 2};

// clang-format off
constexpr Command kFunctions[] = {
    {"flush", function_flush, -2, kWriteFlags, {}, "scripting", "7.0.0",
     "[mode:(ASYNC | SYNC)]", "Removes all libraries of functions.", {}, "function"},
    {"list", function_list, -2, flag::noscript, {}, "scripting", "7.0.0",
     "[LIBRARYNAME library-name-pattern] [WITHCODE]", "Returns the libraries of functions.", {},
     "function"},
    {"stats", function_stats, 2, flag::noscript | flag::allow_busy, {}, "scripting", "7.0.0", "",
     "Returns the function that runs.", {}, "function"},
    {"delete", function_delete, 3, kWriteFlags, {}, "scripting", "7.0.0",
     "library-name", "Removes a library.", {}, "function"},
    {"load", function_load, -3, kLoadFlags, {}, "scripting", "7.0.0",
     "[REPLACE] function-code", "Loads a library, and returns its name.", {}, "function"},
    {"restore", function_restore, -3, kLoadFlags, {}, "scripting", "7.0.0",
     "serialized-value [policy:(FLUSH | APPEND | REPLACE)]",
     "Restores libraries from what FUNCTION DUMP returned.", {}, "function"},
    {"dump", function_dump, 2, flag::noscript, {}, "scripting", "7.0.0", "",
     "Returns all libraries in one value.", {}, "function"},
    {"kill", function_kill, 2, flag::noscript | flag::allow_busy, {}, "scripting", "7.0.0", "",
     "Ends a function that runs.", {}, "function"},
    {"help", reply_help, 2, kFunctionHelp, {}, "scripting", "7.0.0", "", "Prints this help.", {},
     "function"},
};

constexpr Command kFunctionCommands[] = {
    {"function", nullptr, -2, 0, {}, "scripting", "7.0.0", "", "Keeps libraries of functions.",
     kFunctions},
    {"fcall", fcall, -3, kCallFlags | flag::may_replicate, kFunctionKeys, "scripting", "7.0.0",
     "function numkeys:int [key...] [arg...]", "Calls a function."},
    {"fcall_ro", fcall_ro, -3, kCallFlags | flag::readonly, kFunctionReadKeys, "scripting", "7.0.0",
     "function numkeys:int [key...] [arg...]", "Calls a function that only reads."},
};
// clang-format on

}  // namespace

std::span<const Command> function_commands() { return kFunctionCommands; }

}  // namespace mayfly
