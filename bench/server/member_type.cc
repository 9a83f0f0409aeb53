// SPDX-License-Identifier: Apache-2.0
#include "bench/server/member_type.h"

#include <fmt/format.h>

#include <vector>

#include "bench/report/option_values.h"
#include "bench/server/moments.h"

namespace mayfly::bench {
namespace {

constexpr std::size_t kScoreStride = 7'919;  // a prime
constexpr std::size_t kScores = 10'000'000;

void append_member(const MemberType& type, std::size_t number, std::vector<std::string>& words) {
  if (type.has_score) words.push_back(std::to_string(score_of(number)));
  words.push_back(fmt::format("{}:{:07}", type.name, number));
  if (type.has_value) words.push_back(fmt::format("value:{:07}", number));
}

}  // namespace

std::string key_name(const MemberType& type, std::size_t number) {
  return fmt::format("{}:{:07}", type.key, number);
}

std::string shape_title(const MemberType& type, std::size_t each, std::size_t all) {
  if (each == all) return fmt::format("one {}", type.one);
  return fmt::format("{} of {}", type.many, size_title(each));
}

std::size_t score_of(std::size_t number) { return number * kScoreStride % kScores; }

void add_members(RespPipeline& pipeline, const MemberType& type, std::string_view key,
                 MemberRange members, std::optional<Time> deadline) {
  std::vector<std::string> words;
  if (deadline) {
    words = {std::string(type.add_ttl),
             std::string(key),
             "PXAT",
             unix_ms(*deadline),
             std::string(type.count),
             std::to_string(members.last - members.first)};
  } else {
    words = {std::string(type.add), std::string(key)};
  }
  for (std::size_t i = members.first; i < members.last; ++i) append_member(type, i, words);
  const std::vector<std::string_view> views(words.begin(), words.end());
  pipeline.add(Words(views));
}

}  // namespace mayfly::bench
