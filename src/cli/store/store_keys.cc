// SPDX-License-Identifier: Apache-2.0
// put, set-if-absent, get, exists, incr and del: one key, or those with a prefix.

#include <fmt/format.h>

#include <optional>

#include "cli/import/imported_keys.h"
#include "cli/store/store_answers.h"
#include "cli/store/store_commands.h"
#include "cli/store/store_lines.h"
#include "cli/ttl_words.h"
#include "cli/whole_file.h"
#include "tools/byte_text.h"
#include "tools/terminal/output.h"

namespace mayfly {
namespace {

using Use = StoreFile::Use;

constexpr const char* kPutExamples =
    "Examples:\n"
    "  mayfly put --db app.db session:42 alice --ttl 30m        gone in half an hour\n"
    "  mayfly put --db app.db offer text --ttl 2099-12-31T23:59Z    gone at that moment\n"
    "  mayfly put --db app.db picture @cat.png                  what is in a file\n"
    "  date | mayfly put --db app.db now -                      what comes on the standard input\n"
    "  mayfly put --db app.db --hex 00ff 0102                   any bytes\n"
    "  mayfly put --db app.db -- key -5                         a word that begins with -\n"
    "The file is made if it is not there. A key that had a TTL and is put without one loses it.";

constexpr const char* kAbsentExamples =
    "Examples:\n"
    "  mayfly set-if-absent --db app.db lock:report worker-7 --ttl 30s\n"
    "  if mayfly set-if-absent --db app.db lock:report worker-7 --ttl 30s --exit-code; then\n"
    "    make_report; mayfly del --db app.db lock:report\n"
    "  fi\n"
    "It prints 'inserted' or 'already exists', and exits with 0 in both cases. With --exit-code "
    "it\n"
    "exits with 2 if the key has a value already.";

constexpr const char* kIncrExamples =
    "Examples:\n"
    "  mayfly incr --db app.db visits                  one more; it prints the sum\n"
    "  mayfly incr --db app.db visits 10               ten more\n"
    "  mayfly incr --db app.db stock -1                one less\n"
    "  mayfly incr --db app.db calls:alice --ttl 1m    a counter that begins anew every minute\n"
    "A key that is not there counts as 0. One that is there keeps its deadline: --ttl is only for\n"
    "a key that is made. What is no whole number of 64 bits, or becomes none, is an error, and\n"
    "stays as it is.";

constexpr const char* kGetExamples =
    "Examples:\n"
    "  mayfly get --db app.db session:42               the value, and a new line\n"
    "  mayfly get --db app.db picture --raw >cat.png   the bytes and nothing else\n"
    "  mayfly get --db app.db picture --out cat.png    the same, into a file\n"
    "  mayfly get --db app.db session:42 --json        with its deadline\n"
    "A hash that was imported is shown as lines of FIELD, a tab, VALUE.\n"
    "Exit code 2: there is no such key, or it has expired.";

constexpr const char* kExistsExamples =
    "Examples:\n"
    "  mayfly exists --db app.db session:42 && echo there\n"
    "It prints 'true' or 'false'. Exit code 2: there is no such key, or it has expired.";

constexpr const char* kDelExamples =
    "Examples:\n"
    "  mayfly del --db app.db session:42\n"
    "  mayfly del --db app.db --prefix session:        all that begin so, in one transaction\n"
    "Exit code 2: there is no such key, or it has expired.";

struct Words {
  std::string key;
  std::string value;
  std::string ttl;
  std::string prefix;
  std::string out;
  std::string by = "1";
  bool is_raw = false;
  bool has_exit_code = false;
};

// Of a command that may make a file: a wrong key must not leave an empty one behind.
Result<std::string> key_to_write(const Words& words, const StoreFile& file) {
  Result<std::string> key = file.bytes().read(words.key);
  if (!key || (!key->empty() && key->size() <= kStoreKeyMax)) return key;
  return Error{Code::invalid,
               fmt::format("a key has 1 to {} bytes; this one has {}", kStoreKeyMax, key->size())};
}

Result<Expiry> expires_of(const Words& words, const StoreFile& file) {
  if (words.ttl.empty()) return Expiry();
  return parse_expires(words.ttl, file.now());
}

// The key, the value and the deadline that were written.
struct Item {
  std::string key;
  std::string value;
  Expiry expires;
};

Result<Item> item_of(const Words& words, const StoreFile& file) {
  if (words.key == "-" && words.value == "-") {
    return Error{Code::invalid, "the standard input cannot be both the key and the value"};
  }
  Result<std::string> key = key_to_write(words, file);
  if (!key) return key.error();
  Result<std::string> value = file.bytes().read(words.value);
  if (!value) return value.error();
  const Result<Expiry> expires = expires_of(words, file);
  if (!expires) return expires.error();
  return Item{std::move(*key), std::move(*value), *expires};
}

Result<Exit> put(const Words& words, const StoreFile& file) {
  const Result<Item> item = item_of(words, file);
  if (!item) return item.error();
  Result<StoreFile::Opened> opened = file.open_family(Use::write);
  if (!opened) return opened.error();
  const Status status = opened->store.put(item->key, item->value, item->expires, opened->family);
  if (!status) return status.error();
  print_done(item->key, "stored", file);
  return Exit::ok;
}

Result<Exit> set_if_absent(const Words& words, const StoreFile& file) {
  const Result<Item> item = item_of(words, file);
  if (!item) return item.error();
  Result<StoreFile::Opened> opened = file.open_family(Use::write);
  if (!opened) return opened.error();
  const Result<bool> inserted =
      opened->store.put_if_absent(item->key, item->value, item->expires, opened->family);
  if (!inserted) return inserted.error();
  print_inserted(item->key, *inserted, file);
  return *inserted || !words.has_exit_code ? Exit::ok : Exit::not_found;
}

Result<Exit> incr(const Words& words, const StoreFile& file) {
  const Result<std::string> key = key_to_write(words, file);
  if (!key) return key.error();
  const Result<std::int64_t> delta = parse_delta(words.by);
  if (!delta) return delta.error();
  const Result<Expiry> expires = expires_of(words, file);
  if (!expires) return expires.error();
  Result<StoreFile::Opened> opened = file.open_family(Use::write);
  if (!opened) return opened.error();
  const Result<std::int64_t> sum = opened->store.increment(*key, *delta, *expires, opened->family);
  if (!sum) {
    return Error{sum.error().code, fmt::format("cannot add {} to '{}': {}", *delta,
                                               file.bytes().text(*key), sum.error().message)};
  }
  print_sum(*key, *sum, file);
  return Exit::ok;
}

// --out FILE.
Result<Exit> write_value(const std::string& key, const std::string& value, const std::string& path,
                         const StoreFile& file) {
  Result<WholeFile> out = WholeFile::create(path);
  if (!out) return out.error();
  out->text() = value;
  if (const Status status = out->finish(); !status) return status.error();
  if (file.is_json()) {
    fmt::print("{{\"key\": {}, \"file\": {}, \"bytes\": {}}}\n", file.bytes().json(key),
               bytes_as_json(path), value.size());
  }
  return Exit::ok;
}

Result<Exit> get(const Words& words, const StoreFile& file) {
  const bool is_raw = words.is_raw || is_standard_output(words.out);
  if (is_raw && file.is_json()) {
    return Error{Code::invalid,
                 "--raw and --json exclude each other: the bytes and nothing else, or an object"};
  }
  const bool is_file = !words.out.empty() && !is_standard_output(words.out);
  if (is_file) {  // before the store is opened, which makes files beside it
    const Status status = check_is_not_store(words.out, file.path());
    if (!status) return status.error();
  }
  const Result<std::string> key = file.bytes().read(words.key);
  if (!key) return key.error();
  const Result<StoreFile::Opened> opened = file.open_family(Use::read);
  if (!opened) return opened.error();
  const Result<std::optional<OwnedEntry>> entry = opened->store.get_entry(*key, opened->family);
  if (!entry) return entry.error();
  if (!*entry) {
    const Result<ReadTxn> txn = opened->store.read();
    if (!txn) return txn.error();
    const auto answer = is_raw || is_file ? refuse_imported : print_imported;
    return answer(*txn, *key, file.family_name(), file);
  }
  const std::string& value = (*entry)->value;
  if (is_file) return write_value(*key, value, words.out, file);
  const Time deadline = (*entry)->deadline;
  const Time now = (*entry)->ttl ? deadline - *(*entry)->ttl : Time();  // when it was read
  if (is_raw) {
    write_output(value);
  } else {
    print_entry(*key, value, deadline, now, file);
  }
  return Exit::ok;
}

Result<Exit> exists(const Words& words, const StoreFile& file) {
  const Result<std::string> key = file.bytes().read(words.key);
  if (!key) return key.error();
  const Result<StoreFile::Opened> opened = file.open_family(Use::read);
  if (!opened) return opened.error();
  Result<bool> found = opened->store.contains(*key, opened->family);
  if (found && !*found) {
    const Result<ReadTxn> txn = opened->store.read();
    if (!txn) return txn.error();
    found = is_imported(*txn, *key, file.family_name());
  }
  if (!found) return found.error();
  print_exists(*key, *found, file);
  return *found ? Exit::ok : Exit::not_found;
}

Result<Exit> del_prefix(const std::string& prefix, const StoreFile& file) {
  Result<StoreFile::Opened> opened = file.open_family(Use::change);
  if (!opened) return opened.error();
  Result<WriteTxn> txn = opened->store.write();
  if (!txn) return txn.error();
  std::vector<std::string> keys;
  {
    Result<Cursor> cursor = txn->cursor({.prefix = prefix}, opened->family);
    if (!cursor) return cursor.error();
    for (bool on = cursor->first(); on; on = cursor->next()) keys.emplace_back(cursor->key());
    if (!cursor->status()) return cursor->status().error();
  }
  for (const std::string& key : keys) txn->erase(key, opened->family);
  if (const Status status = txn->commit(); !status) return status.error();
  if (file.is_json()) {
    fmt::print("{{\"deleted\": {}}}\n", keys.size());
  } else {
    fmt::print("{}\n", keys.size());
  }
  return Exit::ok;
}

// Whether it was there, be it as an entry or as a hash or the like that was imported.
Result<bool> erase_key(StoreFile::Opened& opened, const std::string& key, const StoreFile& file) {
  const Result<bool> erased = opened.store.erase(key, opened.family);
  if (!erased || *erased) return erased;
  Result<WriteTxn> txn = opened.store.write();
  if (!txn) return txn.error();
  const Result<bool> imported = erase_imported(*txn, key, file.family_name());
  if (!imported || !*imported) return imported;
  if (const Status status = txn->commit(); !status) return status.error();
  return true;
}

Result<Exit> del(const Words& words, const StoreFile& file) {
  if (words.key.empty() == words.prefix.empty()) {
    return Error{Code::invalid, "what is to be deleted? Say KEY or --prefix PREFIX, one of them"};
  }
  const Result<std::string> bytes = file.bytes().read(words.key.empty() ? words.prefix : words.key);
  if (!bytes) return bytes.error();
  if (words.key.empty()) return del_prefix(*bytes, file);
  Result<StoreFile::Opened> opened = file.open_family(Use::change);
  if (!opened) return opened.error();
  const Result<bool> erased = erase_key(*opened, *bytes, file);
  if (!erased) return erased.error();
  if (!*erased) return not_found(*bytes, file);
  print_done(*bytes, "deleted", file);
  return Exit::ok;
}

using Work = Result<Exit> (*)(const Words&, const StoreFile&);

// A command of this file, with the words that all of them take.
CliCommand add(Program& program, StoreFile* file, Words* words, const char* name, const char* what,
               const char* examples, Work work) {
  CliCommand command = program.add(name, what, examples);
  const CliOption key = command.add_option("KEY", words->key, "The key");
  if (work != del) key.required();
  file->add_options(command);
  file->add_byte_options(command);
  program.on(command, [words, file, work] { return work(*words, *file); });
  return command;
}

}  // namespace

Exit not_found(std::string_view key, const StoreFile& file) {
  if (file.is_json()) {
    fmt::print("{{\"key\": {}, \"error\": \"not found\"}}\n", file.bytes().json(key));
  } else {
    fmt::print(stderr, "mayfly: there is no key '{}' in {}\n", file.bytes().text(key), file.path());
  }
  return Exit::not_found;
}

Result<Exit> print_imported(const ReadTxn& txn, const std::string& key, std::string_view family,
                            const StoreFile& file) {
  const Result<std::optional<ImportedKey>> found = ImportedKey::find(txn, family, key);
  if (!found) return found.error();
  if (!*found) return not_found(key, file);
  return exit_of((*found)->print(txn, file));
}

Result<Exit> refuse_imported(const ReadTxn& txn, const std::string& key, std::string_view family,
                             const StoreFile& file) {
  const Result<std::optional<ImportedKey>> found = ImportedKey::find(txn, family, key);
  if (!found) return found.error();
  if (!*found) return not_found(key, file);
  return (*found)->refusal(file);
}

void add_key_commands(Program& program, StoreFile* file) {
  const auto words = program.keep<Words>();
  const auto add_ttl = [&](CliCommand command, const char* what) {
    add_word(command, "--ttl", words->ttl, "TIME", what);
  };
  const auto add_value = [&](CliCommand command) {
    command.add_option("VALUE", words->value, "The value: a word, @FILE, or - for the input")
        .required();
    add_ttl(command, "How long it lives: 90s, 15m, 2h30m, 7d or a date");
    return command;
  };
  add_value(add(program, file, words, "put", "Store a value under a key", kPutExamples, put));
  add_value(add(program, file, words, "set-if-absent", "Store a value unless the key has one",
                kAbsentExamples, set_if_absent))
      .add_flag("--exit-code", words->has_exit_code, "Exit with 2 if the key has a value already");
  CliCommand getting =
      add(program, file, words, "get", "Print the value of a key", kGetExamples, get);
  getting.add_flag("--raw", words->is_raw, "Print the bytes and nothing else");
  add_word(getting, "--out", words->out, "FILE", "Write the bytes to a file");
  add(program, file, words, "exists", "Say whether there is such a key", kExistsExamples, exists);
  CliCommand counting = add(program, file, words, "incr", "Add to a number", kIncrExamples, incr);
  counting.add_option("BY", words->by, "How much (1); less than 0 takes away");
  add_ttl(counting, "How long it lives, if it is not there yet");
  add(program, file, words, "del", "Delete a key, or all with a prefix", kDelExamples, del)
      .add_option("--prefix", words->prefix, "All keys that begin with this")
      .type_name("PREFIX");
}

}  // namespace mayfly
