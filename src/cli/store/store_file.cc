// SPDX-License-Identifier: Apache-2.0
#include "cli/store/store_file.h"

#include <fmt/format.h>

#include <cstdlib>

#include "tools/option_words.h"

namespace mayfly {
namespace {

constexpr const char* kGroup = "The store";
constexpr const char* kHidden = "";

}  // namespace

// Read before the words are, so that what is said by either of the two --db wins.
StoreFile::StoreFile() {
  const char* const path = std::getenv("MAYFLY_DB");
  if (path != nullptr) path_ = path;
}

void StoreFile::add_options(CliCommand command) {
  const bool is_program = command.is_program();
  const char* const group = is_program ? kHidden : kGroup;
  command.add_option("--db", path_, "The file (or set MAYFLY_DB)")
      .type_name("FILE")
      .take_last()
      .group(group);
  command.add_option("--cf", family_, "The column family (default: the one called default)")
      .type_name("NAME")
      .take_last()
      .each([this](const std::string&) { has_family_ = true; })
      .group(group);
  command.add_option("--timeout", timeout_ms_, "How long to wait for another writer (3000)")
      .type_name("MS")
      .take_last()
      .group(group);
  command.add_option("--sync", sync_, "What a power cut may cost: off, normal or full (normal)")
      .type_name("LEVEL")
      .take_last()
      .one_of({"off", "normal", "full"})
      .group(group);
  command.add_flag("--read-only", is_read_only_, "Change nothing, not even what has expired")
      .group(group);
  command.add_option("--format", format_, "text or json (text)")
      .type_name("FORMAT")
      .take_last()
      .one_of({"text", "json"})
      .group(group);
  command.add_flag("--json", is_json_, "The same as --format json").group(group);
  for (const char* name : {"--journal", "--cache-size", "--page-size", "--wal-limit"}) {
    command.add_option(name, ignored_, "No effect; SNKV's tool has it").group(kHidden);
  }
  command.add_flag("--full-mutex", is_ignored_, "No effect; SNKV's tool has it").group(kHidden);
}

void StoreFile::add_byte_options(CliCommand command) { bytes_.add_options(command); }

void StoreFile::add_to_program(CliCommand program) {
  add_options(program);
  add_byte_options(program);
}

Result<StoreOptions> StoreFile::options(Use use) const {
  if (path_.empty()) {
    return Error{Code::invalid, "which store? Say --db FILE, or set MAYFLY_DB"};
  }
  const auto timeout = parse_number<std::int64_t>("--timeout", timeout_ms_, 0, INT32_MAX);
  if (!timeout) return timeout.error();
  StoreOptions options;
  options.durability = sync_ == "off"    ? Durability::off
                       : sync_ == "full" ? Durability::full
                                         : Durability::normal;
  options.busy_timeout = Millis(*timeout);
  options.read_only = is_read_only_;
  options.create = use == Use::write && !is_read_only_;
  return options;
}

Result<Store> StoreFile::open(Use use) const {
  const Result<StoreOptions> chosen = options(use);
  if (!chosen) return chosen.error();
  Result<Store> store = Store::open(path_, clock_, *chosen);
  const bool may_only_read =
      !store && use == Use::read && !is_read_only_ && store.error().code == Code::denied;
  if (!may_only_read) return store;
  StoreOptions less = *chosen;
  less.read_only = true;
  Result<Store> readable = Store::open(path_, clock_, less);
  return readable ? std::move(readable) : std::move(store);  // why it can't be written says more
}

Result<Family> StoreFile::family(const Store& store) const {
  if (family_ == "default") return Family();
  const Result<Family> found = store.family(family_);
  if (found || found.error().code != Code::not_found) return found;
  const Result<std::vector<std::string>> names = store.families();
  std::string there = "default";
  for (const std::string& name : *names) there += ", " + name;
  return Error{Code::not_found,
               fmt::format("{} has no column family '{}', but {}; 'mayfly cf create' makes one",
                           path_, family_, there)};
}

Result<StoreFile::Opened> StoreFile::open_family(Use use) const {
  Result<Store> store = open(use);
  if (!store) return store.error();
  const Result<Family> found = family(*store);
  if (!found) return found.error();
  return Opened{std::move(*store), *found};
}

}  // namespace mayfly
