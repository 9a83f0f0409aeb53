// SPDX-License-Identifier: Apache-2.0
// Whether all shards have the same functions.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/cluster/watch/check_command.h"
#include "text/byte_text.h"

namespace mayfly {
namespace {

using Libraries = std::map<std::string, std::string>;  // the code, by name

// The reply of FUNCTION LIST WITHCODE: names and values in turn for each library.
Libraries libraries_of(const ReplyValue& list) {
  Libraries libraries;
  for (const ReplyValue& library : list.items) {
    std::string name;
    std::string code;
    for (std::size_t i = 0; i + 1 < library.items.size(); i += 2) {
      if (library.items[i].text == "library_name") name = library.items[i + 1].text;
      if (library.items[i].text == "library_code") code = library.items[i + 1].text;
    }
    libraries[escape_controls(name)] = std::move(code);
  }
  return libraries;
}

void add_library(const std::string& name, const std::map<std::string, Libraries>& shards,
                 std::vector<ClusterProblem>& problems) {
  std::vector<std::string> without;
  std::set<std::string> codes;
  for (const auto& [shard, libraries] : shards) {
    const auto found = libraries.find(name);
    found == libraries.end() ? without.push_back(shard) : void(codes.insert(found->second));
  }
  if (without.empty() && codes.size() == 1) return;
  problems.push_back(
      {Severity::risk,
       without.empty()
           ? fmt::format("the code of the function library {} is not the same in all shards", name)
           : fmt::format("the function library {} is missing in shard{} {}", name,
                         without.size() == 1 ? "" : "s", fmt::join(without, ", ")),
       "FUNCTION LOAD REPLACE it at the primary of every shard, or FUNCTION DELETE it there"});
}

}  // namespace

CheckResult check_functions(ClusterSession& session, const ClusterPicture& picture) {
  CheckResult result{"functions", "", {}};
  std::map<std::string, Libraries> shards;
  std::set<std::string> names;
  for (const ClusterShard& shard : picture.view.shards()) {
    const std::string& primary = shard.record.primary.node;
    const auto address = address_of(picture.view, primary);
    if (facts_of(picture, primary) == nullptr || !address) continue;
    const auto reply = call_node(session, *address, {"FUNCTION", "LIST", "WITHCODE"});
    if (!reply) {
      result.problems.push_back({Severity::risk, reply.error().message, ""});
      continue;
    }
    const Libraries& libraries = shards[shard.id] = libraries_of(*reply);
    for (const auto& [name, code] : libraries) names.insert(name);
  }
  for (const std::string& name : names) add_library(name, shards, result.problems);
  const std::size_t all = picture.view.shards().size();
  if (shards.size() < all) {
    result.problems.push_back(
        {Severity::risk, plural(all - shards.size(), "shard") + " could not be asked for functions",
         "", true});
  }
  result.detail = fmt::format("{} of {} compared, {} {}", shards.size(), plural(all, "shard"),
                              names.size(), names.size() == 1 ? "library" : "libraries");
  return result;
}

}  // namespace mayfly
