// SPDX-License-Identifier: Apache-2.0
// The rows of commands that are there so that clients get along: ACL, SCRIPT, FUNCTION, CLUSTER.

#include "server/admin/compatibility_handlers.h"
#include "server/core/server.h"

namespace mayfly {
namespace {

constexpr std::uint32_t kHelp = flag::loading | flag::stale;
constexpr std::uint32_t kQuick = kHelp | flag::fast;
constexpr std::uint32_t kAnytime = kHelp | flag::noscript;
constexpr std::uint32_t kAdmin = kAnytime | flag::admin;
constexpr std::uint32_t kLoad = flag::noscript | flag::write | flag::denyoom;
constexpr std::uint32_t kScript = flag::noscript | flag::stale | flag::skip_monitor;
constexpr std::uint32_t kClusterAdmin = flag::admin | flag::stale | flag::no_async_loading;
constexpr std::string_view kNoCluster = "Is about a cluster; there is none.";

// A subcommand of CLUSTER that needs one.
constexpr Command disabled(std::string_view name, int arity, std::uint32_t flags,
                           std::string_view syntax = {}) {
  return {name,    cluster_disabled, arity,      flags, {},       "cluster",
          "3.0.0", syntax,           kNoCluster, {},    "cluster"};
}

// clang-format off
constexpr Command kAcl[] = {
    {"whoami", acl_whoami, 2, kAnytime, {}, "server", "6.0.0",
     "", "Returns the name of the user of this connection.", {}, "acl"},
    {"cat", acl_cat, -2, kAnytime, {}, "server", "6.0.0",
     "[categoryname]",
     "Returns categories of commands, or the commands of one.", {}, "acl"},
    {"list", acl_list, 2, kAdmin, {}, "server", "6.0.0",
     "", "Tells what users may do.", {}, "acl"},
    {"users", acl_users, 2, kAdmin, {}, "server", "6.0.0",
     "", "Returns the names of all users.", {}, "acl"},
    {"getuser", acl_getuser, 3, kAdmin, {}, "server", "6.0.0",
     "username",
     "Tells what a user may do.", {}, "acl"},
    {"genpass", acl_genpass, -2, kAnytime, {}, "server", "6.0.0",
     "[bits:int]",
     "Makes up a password.", {}, "acl"},
    {"log", acl_log, -2, kAdmin, {}, "server", "6.0.0",
     "[operation:(count:int | RESET)]",
     "Returns what was denied.", {}, "acl"},
    {"setuser", acl_unsupported, -3, kAdmin, {}, "server", "6.0.0",
     "username [rule...]",
     "Makes or changes a user; not there yet.", {}, "acl"},
    {"deluser", acl_unsupported, -3, kAdmin, {}, "server", "6.0.0",
     "username...",
     "Removes users; not there yet.", {}, "acl"},
    {"dryrun", acl_unsupported, -4, kAdmin, {}, "server", "7.0.0",
     "username command [arg...]",
     "Tells whether a user may run a command; not there yet.", {}, "acl"},
    {"load", acl_no_file, 2, kAdmin, {}, "server", "6.0.0",
     "", "Reads users from a file; not there yet.", {}, "acl"},
    {"save", acl_no_file, 2, kAdmin, {}, "server", "6.0.0",
     "", "Writes users to a file; not there yet.", {}, "acl"},
    {"help", acl_help, 2, kHelp, {}, "server", "6.0.0", "", "Tells how ACL is used.", {}, "acl"},
};

constexpr Command kScripts[] = {
    {"flush", script_flush, -2, flag::noscript, {}, "scripting", "2.6.0",
     "[mode:(ASYNC | SYNC)]",
     "Forgets all scripts; there are none.", {}, "script"},
    {"exists", script_exists, -3, flag::noscript, {}, "scripting", "2.6.0",
     "sha1...",
     "Tells which scripts are there.", {}, "script"},
    {"load", scripting_unsupported, 3, flag::noscript | flag::stale, {}, "scripting", "2.6.0",
     "script",
     "Keeps a script; not there yet.", {}, "script"},
    {"kill", scripting_kill, 2, flag::noscript | flag::allow_busy, {}, "scripting", "2.6.0",
     "", "Ends a script that runs.", {}, "script"},
    {"debug", scripting_unsupported, 3, flag::noscript, {}, "scripting", "3.2.0",
     "mode:(YES | SYNC | NO)",
     "Debugs scripts; not there yet.", {}, "script"},
    {"help", script_help, 2, kHelp, {}, "scripting", "5.0.0",
     "", "Tells how SCRIPT is used.", {}, "script"},
};

constexpr Command kFunctions[] = {
    {"flush", function_flush, -2, flag::noscript | flag::write, {}, "scripting", "7.0.0",
     "[mode:(ASYNC | SYNC)]",
     "Removes all functions; there are none.", {}, "function"},
    {"list", function_list, -2, flag::noscript, {}, "scripting", "7.0.0",
     "[LIBRARYNAME library-name-pattern] [WITHCODE]",
     "Returns the libraries of functions.", {}, "function"},
    {"stats", function_stats, 2, flag::noscript | flag::allow_busy, {}, "scripting", "7.0.0",
     "", "Tells which function runs.", {}, "function"},
    {"delete", function_delete, 3, flag::noscript | flag::write, {}, "scripting", "7.0.0",
     "library-name",
     "Removes a library.", {}, "function"},
    {"load", scripting_unsupported, -3, kLoad, {}, "scripting", "7.0.0",
     "[REPLACE] function-code",
     "Makes a library; not there yet.", {}, "function"},
    {"restore", scripting_unsupported, -3, kLoad, {}, "scripting", "7.0.0",
     "serialized-value [policy:(FLUSH | APPEND | REPLACE)]",
     "Makes libraries from a dump; not there yet.", {}, "function"},
    {"dump", scripting_unsupported, 2, flag::noscript, {}, "scripting", "7.0.0",
     "", "Dumps all libraries; not there yet.", {}, "function"},
    {"kill", scripting_kill, 2, flag::noscript | flag::allow_busy, {}, "scripting", "7.0.0",
     "", "Ends a function that runs.", {}, "function"},
    {"help", function_help, 2, kHelp, {}, "scripting", "7.0.0",
     "", "Tells how FUNCTION is used.", {}, "function"},
};

constexpr Command kModules[] = {
    {"list", module_list, 2, flag::admin | flag::noscript, {}, "server", "4.0.0",
     "", "Returns the modules; there are none.", {}, "module"},
    {"help", module_help, 2, kHelp, {}, "server", "5.0.0",
     "", "Tells how MODULE is used.", {}, "module"},
};

constexpr Command kCluster[] = {
    {"keyslot", cluster_keyslot, 3, flag::stale, {}, "cluster", "3.0.0",
     "key",
     "Returns the slot that a key would have.", {}, "cluster"},
    {"help", cluster_help, 2, kHelp, {}, "cluster", "5.0.0",
     "", "Tells how CLUSTER is used.", {}, "cluster"},
    disabled("info", 2, flag::stale),
    disabled("nodes", 2, flag::stale),
    disabled("slots", 2, flag::stale),
    disabled("shards", 2, flag::stale),
    disabled("links", 2, flag::stale),
    disabled("myid", 2, flag::stale),
    disabled("myshardid", 2, flag::stale),
    disabled("countkeysinslot", 3, flag::stale, "slot:int"),
    disabled("getkeysinslot", 4, flag::stale, "slot:int count:int"),
    disabled("replicas", 3, kClusterAdmin, "node-id"),
    disabled("slaves", 3, kClusterAdmin, "node-id"),
    disabled("count-failure-reports", 3, kClusterAdmin, "node-id"),
    disabled("addslots", -3, kClusterAdmin, "slot:int..."),
    disabled("addslotsrange", -4, kClusterAdmin, "(start-slot:int end-slot:int)..."),
    disabled("delslots", -3, kClusterAdmin, "slot:int..."),
    disabled("delslotsrange", -4, kClusterAdmin, "(start-slot:int end-slot:int)..."),
    disabled("flushslots", 2, kClusterAdmin),
    disabled("setslot", -4, kClusterAdmin,
             "slot:int state:(IMPORTING node-id | MIGRATING node-id | NODE node-id | STABLE)"),
    disabled("bumpepoch", 2, kClusterAdmin),
    disabled("set-config-epoch", 3, kClusterAdmin, "config-epoch:int"),
    disabled("meet", -4, kClusterAdmin, "ip port:int [cluster-bus-port:int]"),
    disabled("forget", 3, kClusterAdmin, "node-id"),
    disabled("replicate", 3, kClusterAdmin, "node-id"),
    disabled("failover", -2, kClusterAdmin, "[mode:(FORCE | TAKEOVER)]"),
    disabled("reset", -2, kClusterAdmin, "[mode:(HARD | SOFT)]"),
    disabled("saveconfig", 2, kClusterAdmin),
};

constexpr Command kCommands[] = {
    {"acl", nullptr, -2, 0, {}, "server", "6.0.0", "", "Shows users and what they may do.", kAcl},
    {"script", nullptr, -2, 0, {}, "scripting", "2.6.0", "", "Keeps scripts; there are none.",
     kScripts},
    {"function", nullptr, -2, 0, {}, "scripting", "7.0.0", "", "Keeps functions; there are none.",
     kFunctions},
    {"module", nullptr, -2, 0, {}, "server", "4.0.0", "", "Modules; there are none.", kModules},
    {"cluster", nullptr, -2, 0, {}, "cluster", "3.0.0", "", kNoCluster, kCluster},
    {"eval", scripting_unsupported, -3, kScript, {}, "scripting", "2.6.0",
     "script numkeys:int [key...] [arg...]",
     "Runs a script; not there yet."},
    {"eval_ro", scripting_unsupported, -3, kScript | flag::readonly, {}, "scripting", "7.0.0",
     "script numkeys:int [key...] [arg...]",
     "Runs a script that only reads; not there yet."},
    {"evalsha", evalsha, -3, kScript, {}, "scripting", "2.6.0",
     "sha1 numkeys:int [key...] [arg...]",
     "Runs a script by its digest; not there yet."},
    {"evalsha_ro", evalsha, -3, kScript | flag::readonly, {}, "scripting", "7.0.0",
     "sha1 numkeys:int [key...] [arg...]",
     "Runs a script that only reads; not there yet."},
    {"fcall", fcall, -3, kScript, {}, "scripting", "7.0.0",
     "function numkeys:int [key...] [arg...]",
     "Calls a function; not there yet."},
    {"fcall_ro", fcall, -3, kScript | flag::readonly, {}, "scripting", "7.0.0",
     "function numkeys:int [key...] [arg...]",
     "Calls a function that only reads; not there yet."},
    {"readonly", cluster_disabled, 1, kQuick, {}, "connection", "3.0.0",
     "", "Lets a replica of a cluster answer; there is none."},
    {"readwrite", cluster_disabled, 1, kQuick, {}, "connection", "3.0.0", "", "Undoes READONLY."},
    {"asking", cluster_disabled, 1, flag::fast, {}, "connection", "3.0.0",
     "", "Follows a slot of a cluster; there is none."},
};
// clang-format on

}  // namespace

std::span<const Command> compatibility_commands() { return kCommands; }

}  // namespace mayfly
