// SPDX-License-Identifier: Apache-2.0
// What our commands are called elsewhere: in redis-cli, sqlite3, etcdctl, kubectl, and in the shell
// of the system. One table for the command line, for `mayfly shell` and for `mayfly txn`.
//
//   set, rm, ls       mean the same as a command of ours, and do it: put, del, list
//   setex, decr       mean something that is written in another way here, which is suggested

#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mayfly {

struct OtherWord {
  std::string_view word;
  std::string_view command;  // of ours, which takes the same words; empty if none does
  std::string_view advice;   // what to write instead; only if there is no command
};

std::span<const OtherWord> other_words();

// The command that `word` is another name of, or `word` itself; in lower case, since redis-cli
// takes SET as well as set.
std::string command_meant(std::string_view word);

// What to write instead of `word`: "say 'put KEY VALUE --ttl TIME'"; empty if nothing is known.
std::string_view advice_for(std::string_view word);

}  // namespace mayfly
