// SPDX-License-Identifier: Apache-2.0
// put, set-if-absent, get, exists, incr and del: one key, or all keys with a prefix.

#include <fmt/format.h>

#include <optional>

#include "cli/commands.h"
#include "cli/import/imported_keys.h"
#include "cli/store/store_answers.h"
#include "cli/store/store_lines.h"
#include "cli/ttl_words.h"
#include "cli/whole_file.h"
#include "text/byte_text.h"
#include "tools/terminal/terminal.h"

namespace mayfly {
namespace {

using Use = StoreFile::Use;

constexpr const char* kPutExamples =
    "Examples:\n"
    "  mayfly put --db app.db session:42 alice --ttl 30m            expires in half an hour\n"
    "  mayfly put --db app.db offer text --ttl 2099-12-31T23:59Z    expires at that time\n"
    "  mayfly put --db app.db picture @cat.png                      value from a file\n"
    "  date | mayfly put --db app.db now -                          value from standard input\n"
    "  mayfly put --db app.db --hex 00ff 0102                       binary key and value\n"
    "  mayfly put --db app.db -- key -5                             a value that starts with -\n"
    "Creates the file if it does not exist. Without --ttl, the key gets the\n"
    "default TTL of its column family, or none.";

constexpr const char* kAbsentExamples =
    "Examples:\n"
    "  mayfly set-if-absent --db app.db lock:report worker-7 --ttl 30s\n"
    "  if mayfly set-if-absent --db app.db lock:report worker-7 --ttl 30s --exit-code; then\n"
    "    make_report; mayfly del --db app.db lock:report\n"
    "  fi\n"
    "Prints 'inserted' or 'already exists' and exits with 0 in both cases. With --exit-code it\n"
    "exits with 2 if the key exists.";

constexpr const char* kIncrExamples =
    "Examples:\n"
    "  mayfly incr --db app.db visits                  add 1 and print the sum\n"
    "  mayfly incr --db app.db visits 10               add 10\n"
    "  mayfly incr --db app.db stock -1                subtract 1\n"
    "  mayfly incr --db app.db calls:alice --ttl 1m    a counter that restarts every minute\n"
    "A missing key counts as 0. An existing key keeps its TTL: --ttl applies to new keys only.\n"
    "It is an error if the value, or the sum, is not a 64-bit integer; the value is not changed.";

constexpr const char* kGetExamples =
    "Examples:\n"
    "  mayfly get --db app.db session:42               the value and a newline\n"
    "  mayfly get --db app.db picture --raw >cat.png   only the bytes\n"
    "  mayfly get --db app.db picture --out cat.png    write the bytes to a file\n"
    "  mayfly get --db app.db session:42 --json        with the expiry time\n"
    "An imported hash is printed as lines of FIELD, a tab, VALUE.\n"
    "Exit code 2: the key does not exist or has expired.";

constexpr const char* kExistsExamples =
    "Examples:\n"
    "  mayfly exists --db app.db session:42 && echo found\n"
    "Prints 'true' or 'false'. Exit code 2: the key does not exist or has expired.";

constexpr const char* kDelExamples =
    "Examples:\n"
    "  mayfly del --db app.db session:42\n"
    "  mayfly del --db app.db --prefix session:        all keys with this prefix, at once\n"
    "Exit code 2: the key does not exist or has expired.";

struct KeyArgs {
  std::string key;
  std::string value;
  std::string ttl;
  std::string prefix;
  std::string out;
  std::string by = "1";
  bool is_raw = false;
  bool has_exit_code = false;
};

// The change that the arguments describe. The key is checked here, so that an invalid one does not
// create an empty file.
Result<Operation> operation_of(Verb verb, const KeyArgs& args, const StoreFile& file) {
  Operation operation;
  operation.verb = verb;
  Result<std::string> key = file.bytes().read(args.key);
  if (!key) return key.error();
  if (key->empty() || key->size() > kStoreKeyMax) {
    return Error{Code::invalid, fmt::format("invalid key: a key has 1 to {} bytes, this one has {}",
                                            kStoreKeyMax, key->size())};
  }
  operation.key = std::move(*key);
  if (args.ttl.empty()) return operation;
  const Result<Expiry> expires = parse_expires(args.ttl, file.now());
  if (!expires) return expires.error();
  operation.expires = *expires;
  return operation;
}

Result<Operation> operation_with_value(Verb verb, const KeyArgs& args, const StoreFile& file) {
  if (args.key == "-" && args.value == "-") {
    return Error{Code::invalid, "cannot read both the key and the value from standard input"};
  }
  Result<Operation> operation = operation_of(verb, args, file);
  if (!operation) return operation;
  Result<std::string> value = file.bytes().read(args.value);
  if (!value) return value.error();
  operation->value = std::move(*value);
  return operation;
}

Result<Exit> run_put(const KeyArgs& args, const StoreFile& file) {
  const Result<Operation> operation = operation_with_value(Verb::put, args, file);
  if (!operation) return operation.error();
  return run_operation(*operation, Use::write, file);
}

Result<Exit> run_set_if_absent(const KeyArgs& args, const StoreFile& file) {
  const Result<Operation> operation = operation_with_value(Verb::set_if_absent, args, file);
  if (!operation) return operation.error();
  const Result<Exit> exit = run_operation(*operation, Use::write, file);
  return exit && !args.has_exit_code ? Result<Exit>(Exit::ok) : exit;
}

Result<Exit> run_incr(const KeyArgs& args, const StoreFile& file) {
  Result<Operation> operation = operation_of(Verb::incr, args, file);
  if (!operation) return operation.error();
  const Result<std::int64_t> delta = parse_delta(args.by);
  if (!delta) return delta.error();
  operation->delta = *delta;
  return run_operation(*operation, Use::write, file);
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

Result<Exit> run_get(const KeyArgs& args, const StoreFile& file) {
  const bool is_raw = args.is_raw || is_standard_output(args.out);
  if (is_raw && file.is_json()) {
    return Error{Code::invalid, "--raw and --json cannot be used together"};
  }
  const bool is_file = !args.out.empty() && !is_standard_output(args.out);
  if (is_file) {  // before the store is opened, which creates files beside it
    const Status status = check_is_not_store(args.out, file.path());
    if (!status) return status.error();
  }
  const Result<std::string> key = file.bytes().read(args.key);
  if (!key) return key.error();
  const Result<StoreFile::Opened> opened = file.open_family(Use::read);
  if (!opened) return opened.error();
  const Result<ReadTxn> txn = opened->store.read();
  if (!txn) return txn.error();
  const Result<std::optional<Entry>> entry = txn->get_entry(*key, opened->family);
  if (!entry) return entry.error();
  if (!*entry) {
    const auto answer = is_raw || is_file ? refuse_imported : print_imported;
    return answer(*txn, *key, file.family_name(), file);
  }
  if (is_file) return write_value(*key, std::string((*entry)->value), args.out, file);
  if (is_raw) {
    write_output((*entry)->value);
  } else {
    print_entry(*key, (*entry)->value, (*entry)->deadline, txn->now(), file);
  }
  return Exit::ok;
}

Result<Exit> run_exists(const KeyArgs& args, const StoreFile& file) {
  const Result<std::string> key = file.bytes().read(args.key);
  if (!key) return key.error();
  const Result<StoreFile::Opened> opened = file.open_family(Use::read);
  if (!opened) return opened.error();
  const Result<ReadTxn> txn = opened->store.read();
  if (!txn) return txn.error();
  const Result<bool> found = contains_key(*txn, *key, opened->family, file.family_name());
  if (!found) return found.error();
  print_exists(*key, *found, file);
  return *found ? Exit::ok : Exit::not_found;
}

Result<Exit> delete_prefix(const std::string& prefix, const StoreFile& file) {
  Result<StoreFile::Opened> opened = file.open_family(Use::change);
  if (!opened) return opened.error();
  Result<WriteTxn> txn = opened->store.write();
  if (!txn) return txn.error();
  const Result<std::uint64_t> deleted = erase_prefix(*txn, prefix, opened->family);
  if (!deleted) return deleted.error();
  if (const Status status = txn->commit(); !status) return status.error();
  fmt::print(fmt::runtime(file.is_json() ? "{{\"deleted\": {}}}\n" : "{}\n"), *deleted);
  return Exit::ok;
}

Result<Exit> run_del(const KeyArgs& args, const StoreFile& file) {
  if (args.key.empty() == args.prefix.empty()) {
    return Error{Code::invalid, "give either KEY or --prefix PREFIX"};
  }
  Result<std::string> bytes = file.bytes().read(args.key.empty() ? args.prefix : args.key);
  if (!bytes) return bytes.error();
  if (args.key.empty()) return delete_prefix(*bytes, file);
  Operation operation;
  operation.verb = Verb::del;
  operation.key = std::move(*bytes);
  return run_operation(operation, Use::change, file);
}

}  // namespace

Result<Exit> run_operation(const Operation& operation, Use use, const StoreFile& file) {
  Result<StoreFile::Opened> opened = file.open_family(use);
  if (!opened) return opened.error();
  Result<WriteTxn> txn = opened->store.write();
  if (!txn) return txn.error();
  const Result<Applied> applied =
      apply_to_key(operation, *txn, opened->family, file.family_name(), file);
  if (!applied && operation.verb == Verb::incr) {
    return Error{applied.error().code, fmt::format("key '{}': {}", file.bytes().text(operation.key),
                                                   applied.error().message)};
  }
  if (!applied) return applied.error();
  const Time now = txn->now();
  if (const Status status = txn->commit(); !status) return status.error();
  return print_applied(operation, *applied, now, file);
}

void add_key_commands(Program& program, StoreFile* file) {
  const auto args = program.keep<KeyArgs>();
  const auto add = [&](const char* name, const char* what, const char* examples, auto run) {
    CliCommand command = file->add_command(program, name, what, examples, args, run);
    const CliOption key = command.add_option("KEY", args->key, "The key");
    if (run != run_del) key.required();
    file->add_byte_options(command);
    return command;
  };
  const auto add_value = [&](CliCommand command) {
    command.add_option("VALUE", args->value, "The value: text, @FILE, or - for standard input")
        .required();
    command.add_text("--ttl", args->ttl, "TIME", "Time to live: 90s, 15m, 2h30m, 7d, or a date");
    return command;
  };
  add_value(add("put", "Store a value under a key", kPutExamples, run_put));
  add_value(add("set-if-absent", "Store a value if the key does not exist", kAbsentExamples,
                run_set_if_absent))
      .add_flag("--exit-code", args->has_exit_code, "Exit with code 2 if the key exists");
  const CliCommand get = add("get", "Print the value of a key", kGetExamples, run_get);
  get.add_flag("--raw", args->is_raw, "Print only the bytes, without a newline");
  get.add_text("--out", args->out, "FILE", "Write the bytes to a file");
  add("exists", "Check whether a key exists", kExistsExamples, run_exists);
  const CliCommand incr = add("incr", "Increment a counter", kIncrExamples, run_incr);
  incr.add_option("BY", args->by, "Amount to add, may be negative (default 1)");
  incr.add_text("--ttl", args->ttl, "TIME", "Time to live of a new key");
  add("del", "Delete a key, or all keys with a prefix", kDelExamples, run_del)
      .add_option("--prefix", args->prefix, "Delete all keys that start with PREFIX")
      .type_name("PREFIX");
}

}  // namespace mayfly
