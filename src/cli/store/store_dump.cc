// SPDX-License-Identifier: Apache-2.0
// dump: all of a store as lines of JSON, which load (store_load.cc) reads again.
//
//   {"mayfly_dump":1,"families":[{"name":"default","default_ttl_ms":null}]}
//   {"cf":"default","key":"a","value":"b","deadline_ms":4102444740000}

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "cli/store/store_answers.h"
#include "cli/store/store_commands.h"
#include "cli/whole_file.h"
#include "tools/byte_text.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/terminal.h"

namespace mayfly {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  mayfly dump --db app.db app.jsonl               to a file, which appears when it is whole\n"
    "  mayfly dump --db app.db | gzip >app.jsonl.gz\n"
    "  mayfly dump --db app.db --cf sessions           one column family, and not all of them\n"
    "  mayfly dump --db app.db | mayfly load --db new.db\n"
    "A line of JSON for each entry that has not expired, as of one moment, while others may "
    "write:\n"
    "  {\"cf\":\"default\",\"key\":\"a\",\"value\":\"b\",\"deadline_ms\":4102444740000}\n"
    "The first line lists the families. Bytes that are no text are {\"base64\":\"...\"}.\n"
    "For a copy of the file itself see 'mayfly backup'.";

struct NamedFamily {
  std::string name;
  Family family;
  std::uint64_t entries = 0;
};

Result<std::vector<NamedFamily>> families_of(const ReadTxn& txn, const StoreFile& file) {
  std::vector<std::string> names = {"default"};
  for (std::string& name : txn.families()) names.push_back(std::move(name));
  std::vector<NamedFamily> families;
  for (std::string& name : names) {
    if (file.has_family() && name != file.family_name()) continue;
    const Result<Family> family = name == "default" ? Result(Family()) : txn.family(name);
    if (!family) return family.error();
    const Result<FamilyCounts> counts = txn.count(*family);
    if (!counts) return counts.error();
    families.push_back({std::move(name), *family, counts->live});
  }
  return families;
}

Status add_header(std::string& out, const ReadTxn& txn, const std::vector<NamedFamily>& families) {
  out += "{\"mayfly_dump\":1,\"families\":[";
  for (const NamedFamily& family : families) {
    const Result<std::optional<Millis>> ttl = txn.default_ttl(family.family);
    if (!ttl) return ttl.error();
    if (out.back() != '[') out += ',';
    out += fmt::format("{{\"name\":{},\"default_ttl_ms\":{}}}", bytes_as_json(family.name),
                       *ttl ? fmt::to_string((*ttl)->count()) : "null");
  }
  out += "]}\n";
  return Done{};
}

// Says what is done, and how fast, but not for each entry.
class Watch {
 public:
  Watch(bool is_visible, std::uint64_t total)
      : progress_(stderr, is_visible, static_cast<double>(total)) {}

  void add_one(const std::string& family) {
    if (++entries_ % kStep != 0) return;
    const double rate = static_cast<double>(entries_) / progress_.seconds();
    progress_.begin(fmt::format("{}, {}", family, rate_text(rate)));
    progress_.add(kStep);
  }

  std::uint64_t entries() const { return entries_; }

 private:
  static constexpr std::uint64_t kStep = 20'000;
  Progress progress_;
  std::uint64_t entries_ = 0;
};

template <class Out>
Status add_family(Out& out, const ReadTxn& txn, const NamedFamily& family, Watch& watch) {
  Result<Cursor> cursor = txn.cursor({}, family.family);
  if (!cursor) return cursor.error();
  const std::string beginning = "{\"cf\":" + bytes_as_json(family.name) + ",\"key\":";
  for (bool on = cursor->first(); on; on = cursor->next()) {
    std::string& text = out.text();
    text += beginning;
    text += bytes_as_json(cursor->key());
    text += ",\"value\":";
    text += bytes_as_json(cursor->value());
    if (const Time deadline = cursor->deadline(); deadline != kNever) {
      text += ",\"deadline_ms\":";
      text += fmt::format_int(deadline.time_since_epoch().count()).c_str();
    }
    text += "}\n";
    if (!out.go_on()) break;  // why is said by finish()
    watch.add_one(family.name);
  }
  return cursor->status();
}

struct Dumped {
  std::uint64_t entries = 0;
  std::size_t families = 0;
};

template <class Out>
Result<Dumped> dump_to(Out& out, const ReadTxn& txn, const StoreFile& file, bool is_watched) {
  const Result<std::vector<NamedFamily>> families = families_of(txn, file);
  if (!families) return families.error();
  std::uint64_t total = 0;
  for (const NamedFamily& family : *families) total += family.entries;
  Watch watch(is_watched, total);
  if (const Status status = add_header(out.text(), txn, *families); !status) return status.error();
  for (const NamedFamily& family : *families) {
    if (const Status status = add_family(out, txn, family, watch); !status) return status.error();
  }
  if (const Status status = out.finish(); !status) return status.error();
  return Dumped{watch.entries(), families->size()};
}

Result<Exit> dump_to_file(const std::string& path, const ReadTxn& txn, const StoreFile& file) {
  if (const Status status = check_is_not_store(path, file.path()); !status) return status.error();
  Result<WholeFile> out = WholeFile::create(path);
  if (!out) return out.error();
  const Result<Dumped> dumped = dump_to(*out, txn, file, is_terminal(STDERR_FILENO));
  if (!dumped) return dumped.error();
  if (file.is_json()) {
    fmt::print("{{\"file\": {}, \"entries\": {}, \"families\": {}}}\n", bytes_as_json(path),
               dumped->entries, dumped->families);
  } else {
    fmt::print("dumped {} {} of {} column {} to {}\n", dumped->entries,
               dumped->entries == 1 ? "entry" : "entries", dumped->families,
               dumped->families == 1 ? "family" : "families", path);
  }
  return Exit::ok;
}

Result<Exit> dump(const std::string& path, const StoreFile& file) {
  const Result<StoreFile::Opened> opened = file.open_family(StoreFile::Use::read);
  if (!opened) return opened.error();
  const Result<ReadTxn> txn = opened->store.read();
  if (!txn) return txn.error();
  if (!path.empty() && !is_standard_output(path)) return dump_to_file(path, *txn, file);
  Lines lines;
  const bool is_watched = is_terminal(STDERR_FILENO) && !is_terminal(STDOUT_FILENO);
  const Result<Dumped> dumped = dump_to(lines, *txn, file, is_watched);
  if (!dumped) return dumped.error();
  return Exit::ok;
}

}  // namespace

void add_dump_command(Program& program, StoreFile* file) {
  const auto path = program.keep<std::string>();
  CliCommand command = program.add("dump", "Write all entries as lines of JSON", kExamples);
  command.add_option("FILE", *path, "Where to (standard output)");
  file->add_options(command);
  program.on(command, [path, file] { return dump(*path, *file); });
}

}  // namespace mayfly
