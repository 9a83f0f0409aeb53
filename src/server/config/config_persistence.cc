// SPDX-License-Identifier: Apache-2.0
// The directives about what is kept on disk.

#include "server/config/config_fields.h"
#include "server/config/config_table.h"

namespace mayfly {
namespace {

constexpr std::string_view kSyncs[] = {"always", "everysec", "no"};
constexpr std::string_view kVersionChecks[] = {"strict", "relaxed"};

Status bad_name(std::string_view directive) {
  return bad_value(std::string(directive) + " can't be a path, just a filename");
}

template <std::string Config::*field>
Status set_file_name(Config& config, Values values, bool, std::string_view directive) {
  auto word = only_word(values);
  if (!word) return word.error();
  if (word->empty() || word->find('/') != std::string::npos) return bad_name(directive);
  config.*field = std::move(*word);
  return Done{};
}

Status set_dbfilename(Config& config, Values values, bool at_start) {
  return set_file_name<&Config::dbfilename>(config, values, at_start, "dbfilename");
}

Status set_appendfilename(Config& config, Values values, bool at_start) {
  return set_file_name<&Config::appendfilename>(config, values, at_start, "appendfilename");
}

Status set_appenddirname(Config& config, Values values, bool at_start) {
  return set_file_name<&Config::appenddirname>(config, values, at_start, "appenddirname");
}

// Lines of a file add up, after the first one has replaced the default; CONFIG SET replaces all.
Status set_save(Config& config, Values values, bool at_start) {
  const auto rules = read_save(values);
  if (!rules) return rules.error();
  if (!at_start || config.save_is_default || rules->empty()) config.save.clear();
  config.save.insert(config.save.end(), rules->begin(), rules->end());
  config.save_is_default = false;
  return Done{};
}

std::string show_rules(const Config& config) { return show_save(config.save); }

constexpr Field kDbfilename{set_dbfilename, show_text<&Config::dbfilename>};
constexpr Field kAppendfilename{set_appendfilename, show_text<&Config::appendfilename>};
constexpr Field kAppenddirname{set_appenddirname, show_text<&Config::appenddirname>};
constexpr Field kSave{set_save, show_rules};

// clang-format off
constexpr Directive kPersistenceDirectives[] = {
    {"dbfilename",     "", kDbfilename,                            mark::is_protected},
    {"save",           "", kSave,                                  mark::several},
    {"drop-unsupported", "", boolean<&Config::drop_unsupported>},
    {"rdbcompression", "", boolean<&Config::rdbcompression>},
    {"rdbchecksum",    "", boolean<&Config::rdbchecksum>,          mark::fixed},
    {"rdb-version-check",           "", choice<&Config::rdb_version_check, kVersionChecks>},
    {"rdb-save-incremental-fsync",  "", boolean<&Config::rdb_save_incremental_fsync>},
    {"stop-writes-on-bgsave-error", "", boolean<&Config::stop_writes_on_bgsave_error>},
    {"appendonly",     "", boolean<&Config::appendonly>},
    {"appendfsync",    "", choice<&Config::appendfsync, kSyncs>},
    {"appendfilename", "", kAppendfilename,                        mark::fixed},
    {"appenddirname",  "", kAppenddirname,                         mark::fixed},
    {"auto-aof-rewrite-percentage", "",
     number<&Config::auto_aof_rewrite_percentage, 0, kIntMax>},
    {"auto-aof-rewrite-min-size",   "", memory<&Config::auto_aof_rewrite_min_size>},
    {"aof-load-truncated",          "", boolean<&Config::aof_load_truncated>},
    {"aof-use-rdb-preamble",        "", boolean<&Config::aof_use_rdb_preamble>},
    {"no-appendfsync-on-rewrite",   "", boolean<&Config::no_appendfsync_on_rewrite>},
};
// clang-format on

}  // namespace

std::span<const Directive> persistence_directives() { return kPersistenceDirectives; }

}  // namespace mayfly
