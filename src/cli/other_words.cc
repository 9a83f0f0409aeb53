// SPDX-License-Identifier: Apache-2.0
#include "cli/other_words.h"

#include <algorithm>

namespace mayfly {
namespace {

// clang-format off
constexpr OtherWord kWords[] = {
    {"set", "put", ""},
    {"write", "put", ""},
    {"setnx", "set-if-absent", ""},
    {"read", "get", ""},
    {"cat", "get", ""},
    {"rm", "del", ""},
    {"delete", "del", ""},
    {"remove", "del", ""},
    {"unlink", "del", ""},
    {"has", "exists", ""},
    {"incrby", "incr", ""},
    {"ls", "list", ""},
    {"keys", "list", ""},
    {"dbsize", "count", ""},
    {"stats", "stat", ""},
    {"info", "stat", ""},
    {"status", "stat", ""},
    {"vacuum", "compact", ""},
    {"defrag", "compact", ""},
    {"checkpoint", "sync", ""},
    {"repl", "shell", ""},
    {"prompt", "shell", ""},
    {"server", "serve", ""},
    {"start", "serve", ""},
    {"benchmark", "bench", ""},
    {"man", "manual", ""},

    {"setex", "", "a value that expires is written 'put KEY VALUE --ttl TIME'"},
    {"psetex", "", "a value that expires is written 'put KEY VALUE --ttl 1500ms'"},
    {"mset", "", "several changes in one transaction are lines of 'mayfly txn'"},
    {"mget", "", "'get' takes one key; 'scan' shows keys and values"},
    {"getdel", "", "say 'get KEY' and then 'del KEY'"},
    {"decr", "", "say 'incr KEY -1'"},
    {"decrby", "", "say 'incr KEY -N'"},
    {"pttl", "", "say 'ttl KEY', which knows milliseconds"},
    {"pexpire", "", "say 'expire KEY 1500ms'"},
    {"expireat", "", "say 'expire KEY 2099-12-31T23:59Z'"},
    {"pexpireat", "", "say 'expire KEY 2099-12-31T23:59Z'"},
    {"flushdb", "", "'clear' removes all entries of a column family"},
    {"flushall", "", "'clear' removes all entries of a column family"},
    {"truncate", "", "'clear' removes all entries of a column family"},
    {"multi", "", "'begin' and 'commit' in 'mayfly shell', or lines of 'mayfly txn'"},
    {"save", "", "every write is kept; 'backup' copies the file while others use it"},
    {"bgsave", "", "every write is kept; 'backup' copies the file while others use it"},
    {"restore", "", "'load' reads what 'dump' wrote; a file of 'backup' is a store as it is"},
    {"tables", "", "'cf list' lists column families, 'list' keys"},
    {".tables", "", "'cf list' lists column families, 'list' keys"},
    {".dump", "", "say 'dump'"},
    {".help", "", "say 'help'"},
    {".quit", "", "say 'quit', or press Ctrl-D"},
    {".exit", "", "say 'quit', or press Ctrl-D"},
    {"create", "", "'put' makes the file; 'cf create' makes a column family"},
    {"drop", "", "'del' deletes keys, 'cf drop' a column family"},
    {"insert", "", "say 'put KEY VALUE', or 'set-if-absent KEY VALUE' to keep what is there"},
    {"add", "", "say 'put KEY VALUE', or 'set-if-absent KEY VALUE' to keep what is there"},
    {"update", "", "say 'put KEY VALUE'"},
    {"select", "", "there is no SQL: 'get KEY' prints a value, 'scan' keys and values"},
    {"find", "", "say 'list --prefix PREFIX'"},
    {"search", "", "say 'list --prefix PREFIX'"},
    {"describe", "", "'stat' tells of the file, 'get KEY --json' of a key"},
    {"watch", "", "'top' watches a server; a store tells nobody what changes"},
    {"monitor", "", "'top' watches a server"},
    {"ping", "", "a store in a file needs no server; 'redis-cli ping' asks a server"},
    {"hset", "", "a store has no hashes: keys like 'user:1:name', or a server ('mayfly serve')"},
    {"hget", "", "a store has no hashes: 'get KEY' shows one that was imported"},
    {"hgetall", "", "a store has no hashes: 'get KEY' shows one that was imported"},
};
// clang-format on

std::string lower(std::string_view word) {
  std::string text(word);
  for (char& letter : text) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return text;
}

const OtherWord* find(const std::string& word) {
  const auto found = std::ranges::find(kWords, word, &OtherWord::word);
  return found == std::end(kWords) ? nullptr : found;
}

}  // namespace

std::span<const OtherWord> other_words() { return kWords; }

std::string command_meant(std::string_view word) {
  std::string name = lower(word);
  const OtherWord* const found = find(name);
  return found == nullptr || found->command.empty() ? name : std::string(found->command);
}

std::string_view advice_for(std::string_view word) {
  const OtherWord* const found = find(lower(word));
  return found == nullptr ? std::string_view() : found->advice;
}

}  // namespace mayfly
