// SPDX-License-Identifier: Apache-2.0
#include "cli/store/store_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "text/byte_text.h"
#include "tools/files.h"
#include "tools/option_words.h"

namespace mayfly {
namespace {

Result<std::string> read_argument_file(const std::string& word) {
  Result<std::string> bytes = read_file(word.substr(1));
  if (bytes) return bytes;
  return Error{
      bytes.error().code,
      fmt::format("{} (an argument that starts with @ names a file; for the text '{}' write '@{}')",
                  bytes.error().message, word, word)};
}

constexpr const char* kStoreGroup = "Store options";
constexpr const char* kHidden = "";

}  // namespace

void ByteWords::add_options(CliCommand command) {
  const char* const group = command.is_program() ? "" : "Byte encoding";
  const CliOption as_hex =
      command.add_flag("--hex", is_hex_, "Read and print keys and values as hexadecimal");
  const CliOption as_base64 =
      command.add_flag("--base64", is_base64_, "Read and print keys and values as base64");
  const CliOption literal =
      command.add_flag("--literal", is_literal_, "Take - and @FILE literally");
  as_base64.excludes(as_hex);
  for (const CliOption option : {as_hex, as_base64, literal}) option.group(group);
}

Result<std::string> ByteWords::read(const std::string& word) const {
  if (!is_literal_) {
    if (word == "-") return read_input();
    if (word.starts_with("@@")) return word.substr(1);
    if (word.starts_with("@")) return read_argument_file(word);
  }
  return decode(word);
}

Result<std::string> ByteWords::decode(std::string_view word) const {
  if (is_hex_) return from_hex(word);
  if (is_base64_) return from_base64(word);
  return std::string(word);
}

std::string ByteWords::text(std::string_view bytes) const {
  if (is_hex_) return hex(bytes);
  if (is_base64_) return base64(bytes);
  return is_utf8(bytes) ? std::string(bytes) : "<hex:" + hex(bytes) + ">";
}

std::string ByteWords::line(std::string_view bytes) const {
  const auto is_control = [](char letter) {
    return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F;
  };
  const bool is_plain = is_hex_ || is_base64_ || std::ranges::none_of(bytes, is_control);
  return is_plain ? text(bytes) : "<hex:" + hex(bytes) + ">";
}

std::string ByteWords::json(std::string_view bytes) const {
  if (is_hex_) return fmt::format("\"{}\"", hex(bytes));
  if (is_base64_) return fmt::format("\"{}\"", base64(bytes));
  return bytes_as_json(bytes);
}

// Read before the arguments are parsed, so that --db overrides it.
StoreFile::StoreFile() {
  const char* const path = std::getenv("MAYFLY_DB");
  if (path != nullptr) path_ = path;
}

void StoreFile::add_options(CliCommand command) {
  const char* const group = command.is_program() ? kHidden : kStoreGroup;
  command.add_option("--db", path_, "Store file (default: $MAYFLY_DB)")
      .type_name("FILE")
      .take_last()
      .group(group);
  command.add_option("--cf", family_, "Column family (default: default)")
      .type_name("NAME")
      .take_last()
      .each([this](const std::string&) { has_family_ = true; })
      .group(group);
  command.add_option("--timeout", timeout_ms_, "Maximum wait for another writer (default 3000)")
      .type_name("MS")
      .take_last()
      .group(group);
  command.add_option("--sync", sync_, "Durability after a power failure (default normal)")
      .type_name("LEVEL")
      .take_last()
      .one_of({"off", "normal", "full"})
      .group(group);
  command.add_flag("--read-only", is_read_only_, "Open read-only; expired entries are not removed")
      .group(group);
  command.add_option("--format", format_, "Output format (default text)")
      .type_name("FORMAT")
      .take_last()
      .one_of({"text", "json"})
      .group(group);
  command.add_flag("--json", is_json_, "Same as --format json").group(group);
  for (const char* name : {"--journal", "--cache-size", "--page-size", "--wal-limit"}) {
    command.add_option(name, ignored_, "Ignored; accepted for compatibility with SNKV")
        .group(kHidden);
  }
  command.add_flag("--full-mutex", is_ignored_, "Ignored; accepted for compatibility with SNKV")
      .group(kHidden);
}

void StoreFile::add_to_program(CliCommand program) {
  add_options(program);
  bytes_.add_options(program);
}

Result<StoreOptions> StoreFile::options(Use use) const {
  if (path_.empty()) {
    return Error{Code::invalid, "No store given. Use --db FILE or set MAYFLY_DB"};
  }
  const auto timeout = parse_number<std::int64_t>("--timeout", timeout_ms_, 0, INT32_MAX);
  if (!timeout) return timeout.error();
  StoreOptions options;
  options.durability = sync_ == "off"    ? Durability::off
                       : sync_ == "full" ? Durability::full
                                         : Durability::normal;
  options.busy_timeout = Millis(*timeout);
  options.read_only = is_read_only_ || use == Use::look;
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
  return readable ? std::move(readable) : std::move(store);  // the first error says more
}

Result<Family> StoreFile::family(const Store& store) const {
  if (family_ == "default") return Family();
  const Result<Family> found = store.family(family_);
  if (found || found.error().code != Code::not_found) return found;
  const Result<std::vector<std::string>> names = store.families();
  std::string there = "default";
  for (const std::string& name : *names) there += ", " + name;
  return Error{Code::not_found,
               fmt::format("{} has no column family '{}', only {} (use 'mayfly cf create')", path_,
                           family_, there)};
}

Result<StoreFile::Opened> StoreFile::open_family(Use use) const {
  Result<Store> store = open(use);
  if (!store) return store.error();
  const Result<Family> found = family(*store);
  if (!found) return found.error();
  return Opened{std::move(*store), *found};
}

}  // namespace mayfly
