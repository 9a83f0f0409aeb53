// SPDX-License-Identifier: Apache-2.0
// What the tests of the page check share: a file that LMDB writes, and an image of it to damage.

#pragma once

#include <gtest/gtest.h>
#include <lmdb.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/check/page_check.h"
#include "store/lmdb/page_format.h"

namespace mayfly::internal {

// A file written by LMDB in a temporary folder. What LMDB refuses fails the test.
class LmdbFile {
 public:
  LmdbFile() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = testing::TempDir() + "mayfly-" + test->test_suite_name() + "-" + test->name() + "-" +
            std::to_string(getpid());
    std::filesystem::remove(path_);
    must(mdb_env_create(&env_));
    must(mdb_env_set_maxdbs(env_, 32));
    must(mdb_env_set_mapsize(env_, std::size_t{256} << 20));
    must(mdb_env_open(env_, path_.c_str(), MDB_NOSUBDIR | MDB_NOSYNC | MDB_NOTLS, 0600));
  }
  ~LmdbFile() {
    mdb_env_close(env_);
    std::filesystem::remove(path_);
    std::filesystem::remove(path_ + "-lock");
  }
  LmdbFile(const LmdbFile&) = delete;
  LmdbFile& operator=(const LmdbFile&) = delete;

  static void must(int code) { ASSERT_EQ(code, 0) << mdb_strerror(code); }

  MDB_txn* begin(unsigned flags = 0) {
    MDB_txn* txn = nullptr;
    must(mdb_txn_begin(env_, nullptr, flags, &txn));
    return txn;
  }
  static void commit(MDB_txn* txn) { must(mdb_txn_commit(txn)); }

  static MDB_dbi tree(MDB_txn* txn, const char* name) {
    MDB_dbi dbi = 0;
    must(mdb_dbi_open(txn, name, MDB_CREATE, &dbi));
    return dbi;
  }
  static void put(MDB_txn* txn, const char* name, std::string_view key, std::string_view value) {
    MDB_val k = val(key);
    MDB_val v = val(value);
    must(mdb_put(txn, tree(txn, name), &k, &v, 0));
  }
  // Returns whether the key was there.
  static bool erase(MDB_txn* txn, const char* name, std::string_view key) {
    MDB_val k = val(key);
    return mdb_del(txn, tree(txn, name), &k, nullptr) == 0;
  }
  static void drop(MDB_txn* txn, const char* name, bool remove) {
    must(mdb_drop(txn, tree(txn, name), remove ? 1 : 0));
  }

  MDB_env* env() { return env_; }

  static std::vector<std::byte> read(const std::string& path) {
    std::vector<std::byte> bytes(std::filesystem::file_size(path));
    std::ifstream in(path, std::ios::binary);
    in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    EXPECT_TRUE(in.good());
    return bytes;
  }
  std::vector<std::byte> bytes() const { return read(path_); }
  const std::string& path() const { return path_; }

 private:
  static MDB_val val(std::string_view text) {
    return {text.size(), const_cast<char*>(text.data())};
  }

  std::string path_;
  MDB_env* env_ = nullptr;
};

// "key-00042": sorts as the number does.
inline std::string numbered_key(std::size_t number) {
  const std::string digits = std::to_string(number);
  return std::string("key-").append(5 - std::min<std::size_t>(5, digits.size()), '0') + digits;
}

// The bytes of a file, with the means to find a place in it and to damage that.
class Image {
 public:
  explicit Image(std::vector<std::byte> file) : bytes(std::move(file)) {}

  std::uint32_t page_bytes() const { return read_meta_record(bytes).page_bytes(); }
  std::size_t at(std::uint64_t page, std::size_t offset = 0) const {
    return page * page_bytes() + offset;
  }
  Bytes page(std::uint64_t number) const { return Bytes(bytes).subspan(at(number), page_bytes()); }

  template <class T>
  T peek(std::size_t offset) const {
    return load<T>(bytes, offset);
  }
  template <class T>
  void poke(std::size_t offset, T value) {
    ASSERT_LE(offset + sizeof value, bytes.size());
    std::memcpy(bytes.data() + offset, &value, sizeof value);
  }

  // The newest meta page, and the places of its fields.
  std::uint64_t meta_page() const {
    return read_meta_record(page(0)).txnid < read_meta_record(page(1)).txnid ? 1 : 0;
  }
  MetaRecord meta() const { return read_meta_record(page(meta_page())); }
  std::size_t free_record() const { return at(meta_page(), 16 + 24); }
  std::size_t main_record() const { return at(meta_page(), 16 + 72); }
  std::size_t last_page_field() const { return at(meta_page(), 16 + 120); }
  std::size_t txnid_field() const { return at(meta_page(), 16 + 128); }

  // Of the node `index` in `page`: the offset in the file of its slot, of itself, of its value.
  std::size_t slot(std::uint64_t page, std::size_t index) const { return at(page, 16 + 2 * index); }
  std::size_t node(std::uint64_t page, std::size_t index) const {
    return at(page, peek<std::uint16_t>(slot(page, index)));
  }
  std::size_t value(std::uint64_t page, std::size_t index) const {
    return node(page, index) + 8 + peek<std::uint16_t>(node(page, index) + 6);
  }
  std::uint64_t child(std::uint64_t page, std::size_t index) const {
    return read_node_header(bytes, node(page, index)).child;
  }
  std::size_t node_count(std::uint64_t page) const {
    return (peek<std::uint16_t>(at(page, 12)) - std::size_t{16}) / 2;
  }

  // The record of a tree in the main tree, which has to be a leaf.
  std::size_t named_record(std::string_view name) const {
    const std::uint64_t root = meta().main_tree.root;
    for (std::size_t i = 0; i < node_count(root); ++i) {
      const std::size_t begin = node(root, i) + 8;
      if (text_at(bytes, begin, value(root, i) - begin) == name) return value(root, i);
    }
    ADD_FAILURE() << "no tree " << name;
    return 0;
  }
  std::uint64_t root_of(std::string_view name) const {
    return read_tree_record(bytes, named_record(name)).root;
  }

  // Makes `page` a well-formed leaf of these entries, in this order.
  void write_leaf(std::uint64_t page, const std::vector<std::pair<std::string, std::string>>& all) {
    std::size_t upper = page_bytes();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto& [key, text] = all[i];
      upper -= (8 + key.size() + text.size() + 1) / 2 * 2;
      poke(slot(page, i), static_cast<std::uint16_t>(upper));
      poke(at(page, upper), static_cast<std::uint32_t>(text.size()));
      poke(at(page, upper + 4), std::uint16_t{0});
      poke(at(page, upper + 6), static_cast<std::uint16_t>(key.size()));
      std::memcpy(bytes.data() + at(page, upper + 8), key.data(), key.size());
      std::memcpy(bytes.data() + at(page, upper + 8 + key.size()), text.data(), text.size());
    }
    poke(at(page, 12), static_cast<std::uint16_t>(16 + 2 * all.size()));
    poke(at(page, 14), static_cast<std::uint16_t>(upper));
  }

  std::vector<std::byte> bytes;
};

}  // namespace mayfly::internal
