// SPDX-License-Identifier: Apache-2.0
// Which words of the command line are passwords, and their replacement.

#include "cli/secret_words.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace {

std::vector<std::string> left_after(std::vector<std::string> words) {
  words.insert(words.begin(), "mayfly");
  std::vector<std::string> memory = words;
  std::vector<char*> pointers;
  for (std::string& word : memory) pointers.push_back(word.data());
  EXPECT_EQ(take_words(static_cast<int>(pointers.size()), pointers.data()), words);
  memory.erase(memory.begin());
  return memory;
}

using List = std::vector<std::string>;

TEST(SecretWordsTest, PasswordsAreOverwritten) {
  EXPECT_EQ(left_after({"serve", "--requirepass", "secret", "--port", "7000"}),
            (List{"serve", "--requirepass", "******", "--port", "7000"}));
  EXPECT_EQ(left_after({"serve", "--REQUIREPASS", "secret"}),
            (List{"serve", "--REQUIREPASS", "******"}));
  EXPECT_EQ(left_after({"serve", "--requirepass secret"}), (List{"serve", "--requirepass ******"}));
  EXPECT_EQ(left_after({"serve", "--masterauth", "a", "--primaryauth", "b"}),
            (List{"serve", "--masterauth", "*", "--primaryauth", "*"}));
  EXPECT_EQ(left_after({"serve", "--cluster-etcd-password", "abc"}),
            (List{"serve", "--cluster-etcd-password", "***"}));
  EXPECT_EQ(left_after({"cluster", "--password=abc", "--etcd-password", "-x", "status"}),
            (List{"cluster", "--password=***", "--etcd-password", "**", "status"}));
}

TEST(SecretWordsTest, PasswordsInUrlsAreOverwritten) {
  EXPECT_EQ(left_after({"import", "redis://:pass@host:1/2", "--to", "valkey://user:p:w@h"}),
            (List{"import", "redis://:****@host:1/2", "--to", "valkey://user:***@h"}));
  EXPECT_EQ(left_after({"top", "redis://:se@cret@host"}), (List{"top", "redis://:*******@host"}));
  EXPECT_EQ(left_after({"--from=unix://:pw@/run/v.sock"}), (List{"--from=unix://:**@/run/v.sock"}));
  EXPECT_EQ(left_after({"http://a@host:1", "redis://host:1", "a:b@c"}),
            (List{"http://a@host:1", "redis://host:1", "a:b@c"}));
}

}  // namespace
}  // namespace mayfly
