// SPDX-License-Identifier: Apache-2.0
// Shell: runs lines on an open store, in a transaction if one is open.
//
//   Shell shell(file);
//   const Status opened = shell.open(StoreFile::Use::read);
//   while (!shell.is_done()) report(shell.run(next_line(shell.prompt())));
//
// Changes are in store_lines.h, the other commands in the table of store_shell_commands.cc.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/program.h"
#include "cli/store/store_file.h"
#include "cli/store/store_lines.h"
#include "cli/store/store_shell_editor.h"

namespace mayfly {

class Shell {
 public:
  // `file` must outlive it.
  explicit Shell(const StoreFile& file) : file_(file), family_name_(file.family_name()) {}

  // Opens the store unless it is open. If there is no store, a line that reads fails, and the first
  // line that writes creates it.
  Status open(StoreFile::Use use);

  // An error changes nothing, but a failed write rolls back the open transaction; the message says
  // so.
  Result<Exit> run(std::string_view line);

  bool is_done() const { return is_done_; }
  bool has_transaction() const { return txn_.has_value(); }

  // "app.db/sessions*> ": the file, the family unless it is the default one, and a star in a
  // transaction.
  std::string prompt() const;

  // Completes commands, and keys of the family.
  Completion complete(std::string_view before);

 private:
  using Command = Result<Exit> (Shell::*)(LineWords& words);
  struct Row {
    std::string_view name;
    std::string_view usage;
    std::string_view what;
    Command command;
  };
  static std::span<const Row> rows();
  static std::vector<std::string_view> names();

  // Calls work(const ReadTxn&) or work(WriteTxn&) in the open transaction, or in a new one.
  template <class Work>
  Result<Exit> reading(Work work) {
    if (txn_) return work(static_cast<const ReadTxn&>(*txn_));
    if (const Status opened = open(StoreFile::Use::read); !opened) return opened.error();
    const Result<ReadTxn> txn = store_->read();
    if (!txn) return txn.error();
    return work(*txn);
  }
  template <class Work>
  Result<Exit> writing(Work work) {
    if (txn_) return in_open_transaction(work(*txn_));
    if (const Status opened = open(StoreFile::Use::write); !opened) return opened.error();
    Result<WriteTxn> txn = store_->write();
    if (!txn) return txn.error();
    const Result<Exit> exit = work(*txn);
    if (!exit) return exit;
    if (const Status status = txn->commit(); !status) return status.error();
    return exit;
  }
  Result<Exit> in_open_transaction(const Result<Exit>& exit);

  Result<std::string> key_of(LineWords& words) const;  // the only argument
  Result<Exit> change(const Operation& operation);
  Result<Exit> walk(LineWords& words, bool has_values);
  Status use_family(const std::string& name);
  void refresh_family();

  Result<Exit> get(LineWords& words);
  Result<Exit> exists(LineWords& words);
  Result<Exit> ttl(LineWords& words);
  Result<Exit> list(LineWords& words) { return walk(words, false); }
  Result<Exit> scan(LineWords& words) { return walk(words, true); }
  Result<Exit> count(LineWords& words);
  Result<Exit> expiring(LineWords& words);
  Result<Exit> purge(LineWords& words);
  Result<Exit> families(LineWords& words);
  Result<Exit> stat(LineWords& words);
  Result<Exit> begin(LineWords& words);
  Result<Exit> commit(LineWords& words);
  Result<Exit> rollback(LineWords& words);
  Result<Exit> help(LineWords& words);
  Result<Exit> quit(LineWords& words);

  const StoreFile& file_;
  std::optional<Store> store_;
  Family family_;
  std::string family_name_;
  std::optional<WriteTxn> txn_;  // destroyed before the store
  bool is_done_ = false;
};

}  // namespace mayfly
