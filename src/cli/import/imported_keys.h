// SPDX-License-Identifier: Apache-2.0
// How keys of a server that were imported into a store are shown: a hash by its fields and values,
// and so for sets, sorted sets and lists. import_layout.h says how they stand in the store.
//
//   mayfly get session:42              user <tab> alice, a line for each field
//   mayfly scan --cf hash              session:42 <tab> user <tab> alice
//
// With --hex or --base64 the entries of the store are shown as they are.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/import/import_item.h"
#include "cli/store/store_file.h"
#include "mayfly/store_txn.h"

namespace mayfly {

// How the entries of a family are shown, on a line or as a part of an object of JSON. Entries of
// the families that an import makes have more parts than a key and a value.
class EntryText {
 public:
  EntryText(const StoreFile& file, std::string_view family);

  std::string key_line(std::string_view key) const;  // "session:42\tuser"
  std::string key_json(std::string_view key) const;  // "key": "session:42", "field": "user"

  // The same with the value, if there is one: members of sets have none.
  std::string entry_line(std::string_view key, std::string_view value) const;
  std::string entry_json(std::string_view key, std::string_view value) const;

 private:
  const ByteWords& bytes_;
  CopyType type_ = CopyType::string;
};

// A key of a server, which is many entries of a store.
class ImportedKey {
 public:
  // What was imported as `key` into the family called `family`, or into one beside it; nothing if
  // nothing was.
  static Result<std::optional<ImportedKey>> find(const ReadTxn& txn, std::string_view family,
                                                 const std::string& key);

  std::string_view type() const { return name_of(type_); }

  // A line for each member; or one object.
  Status print(const ReadTxn& txn, const StoreFile& file) const;

  void erase(WriteTxn& txn) const;

  // Of what is done with a single value or a single deadline, which it has not: "'session:42' is a
  // hash that was imported; ...".
  Error refusal(const StoreFile& file) const;

 private:
  ImportedKey(std::string key, CopyType type, Family family)
      : key_(std::move(key)), type_(type), family_(family) {}

  std::string key_;
  CopyType type_;
  Family family_;
};

// Whether there is such a key. The second one also removes it.
Result<bool> is_imported(const ReadTxn& txn, const std::string& key, std::string_view family);
Result<bool> erase_imported(WriteTxn& txn, const std::string& key, std::string_view family);

}  // namespace mayfly
