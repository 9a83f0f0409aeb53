// SPDX-License-Identifier: Apache-2.0
// Imported keys in a store: a hash is printed by its fields and values, and so are sets, sorted
// sets, lists and streams. import_item.h describes the layout.
//
//   mayfly get session:42              user <tab> alice, a line for each field
//   mayfly scan --cf hash              session:42 <tab> user <tab> alice
//
// With --hex or --base64 the entries of the store are printed as they are.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/import/import_item.h"
#include "cli/store/store_file.h"
#include "mayfly/store_txn.h"

namespace mayfly {

// The entries of a family as text or as part of a JSON object. Entries of the families of an import
// have more parts than a key and a value.
class EntryText {
 public:
  EntryText(const StoreFile& file, std::string_view family);

  std::string key_line(std::string_view key) const;  // "session:42\tuser"
  std::string key_json(std::string_view key) const;  // "key": "session:42", "field": "user"

  // With the value, if there is one: members of sets have none.
  std::string entry_line(std::string_view key, std::string_view value) const;
  std::string entry_json(std::string_view key, std::string_view value) const;

 private:
  const ByteWords& bytes_;
  CopyType type_ = CopyType::string;
};

// A key of a server, which is many entries of a store.
class ImportedKey {
 public:
  // The key imported into the family called `family`, or into one beside it, if there is one.
  static Result<std::optional<ImportedKey>> find(const ReadTxn& txn, std::string_view family,
                                                 const std::string& key);

  std::string_view type() const { return name_of(type_); }

  // One line per member, or one JSON object.
  Status print(const ReadTxn& txn, const StoreFile& file) const;

  void erase(WriteTxn& txn) const;

  // The error for commands that need a single value or a single TTL.
  Error refusal(const StoreFile& file) const;

 private:
  ImportedKey(std::string key, CopyType type, Family family)
      : key_(std::move(key)), type_(type), family_(family) {}

  std::string key_;
  CopyType type_;
  Family family_;
};

// Whether the key exists in the family, or was imported into it or beside it.
Result<bool> contains_key(const ReadTxn& txn, const std::string& key, Family family,
                          std::string_view family_name);

// For a key that does not exist as an entry: prints the imported key, or refuses what does not work
// with an imported key. not_found() if it was not imported either.
Result<Exit> print_imported(const ReadTxn& txn, const std::string& key, std::string_view family,
                            const StoreFile& file);
Result<Exit> refuse_imported(const ReadTxn& txn, const std::string& key, std::string_view family,
                             const StoreFile& file);

// Deletes all entries with a prefix. Returns their number.
Result<std::uint64_t> erase_prefix(WriteTxn& txn, const std::string& prefix, Family family);

}  // namespace mayfly
