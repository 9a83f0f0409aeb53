// SPDX-License-Identifier: Apache-2.0
// dump: exports a store as lines of JSON, which load (store_load.cc) reads.
//
//   {"mayfly_dump":1,"families":[{"name":"default","default_ttl_ms":null}]}
//   {"cf":"default","key":"a","value":"b","deadline_ms":4102444740000}

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "cli/commands.h"
#include "cli/store/store_answers.h"
#include "cli/whole_file.h"
#include "text/byte_text.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/terminal.h"

namespace mayfly {
namespace {

constexpr const char* kDumpExamples =
    "Examples:\n"
    "  mayfly dump --db app.db app.jsonl               to a file, which appears when complete\n"
    "  mayfly dump --db app.db | gzip >app.jsonl.gz\n"
    "  mayfly dump --db app.db --cf sessions           only one column family\n"
    "  mayfly dump --db app.db | mayfly load --db new.db\n"
    "Writes one line of JSON per unexpired entry, from one snapshot, while others may write:\n"
    "  {\"cf\":\"default\",\"key\":\"a\",\"value\":\"b\",\"deadline_ms\":4102444740000}\n"
    "The first line lists the column families. Bytes that are not UTF-8 become "
    "{\"base64\":\"...\"}.\n"
    "To copy the file itself use 'mayfly backup'.";

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

// Shows the family and the rate, but not for each entry.
class DumpProgress {
 public:
  DumpProgress(bool is_visible, std::uint64_t total)
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
Status add_family(Out& out, const ReadTxn& txn, const NamedFamily& family, DumpProgress& progress) {
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
    if (!out.go_on()) break;  // finish() reports why
    progress.add_one(family.name);
  }
  return cursor->status();
}

struct Dumped {
  std::uint64_t entries = 0;
  std::size_t families = 0;
};

template <class Out>
Result<Dumped> dump_to(Out& out, const ReadTxn& txn, const StoreFile& file, bool is_visible) {
  const Result<std::vector<NamedFamily>> families = families_of(txn, file);
  if (!families) return families.error();
  std::uint64_t total = 0;
  for (const NamedFamily& family : *families) total += family.entries;
  DumpProgress progress(is_visible, total);
  if (const Status status = add_header(out.text(), txn, *families); !status) return status.error();
  for (const NamedFamily& family : *families) {
    if (const Status status = add_family(out, txn, family, progress); !status)
      return status.error();
  }
  if (const Status status = out.finish(); !status) return status.error();
  return Dumped{progress.entries(), families->size()};
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

Result<Exit> run_dump(const std::string& path, const StoreFile& file) {
  const Result<StoreFile::Opened> opened = file.open_family(StoreFile::Use::read);
  if (!opened) return opened.error();
  const Result<ReadTxn> txn = opened->store.read();
  if (!txn) return txn.error();
  if (!path.empty() && !is_standard_output(path)) return dump_to_file(path, *txn, file);
  Lines lines;
  const bool is_visible = is_terminal(STDERR_FILENO) && !is_terminal(STDOUT_FILENO);
  const Result<Dumped> dumped = dump_to(lines, *txn, file, is_visible);
  if (!dumped) return dumped.error();
  return Exit::ok;
}

}  // namespace

void add_dump_command(Program& program, StoreFile* file) {
  const auto path = program.keep<std::string>();
  file->add_command(program, "dump", "Export all entries as lines of JSON", kDumpExamples, path,
                    run_dump)
      .add_option("FILE", *path, "Output file (default: standard output)");
}

}  // namespace mayfly
