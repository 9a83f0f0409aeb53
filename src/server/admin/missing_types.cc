// SPDX-License-Identifier: Apache-2.0
#include "server/admin/missing_types.h"

#include <fmt/format.h>

#include <algorithm>

#include "commands/words.h"

namespace mayfly {
namespace {

struct MissingType {
  std::string_view type;      // as TYPE would call it
  std::string_view plural;    // as a person does
  std::string_view commands;  // in lower case, with a space before and behind each
};

constexpr MissingType kTypes[] = {
    {"json", "JSON documents",
     " json.set json.get json.mget json.mset json.del json.forget json.type json.numincrby "
     "json.nummultby json.strappend json.strlen json.arrappend json.arrindex json.arrinsert "
     "json.arrlen json.arrpop json.arrtrim json.objkeys json.objlen json.toggle json.clear "
     "json.merge json.resp json.debug "},
    {"bloom", "Bloom filters",
     " bf.add bf.madd bf.exists bf.mexists bf.reserve bf.insert bf.info bf.card "},
    {"vectorset", "vector sets",
     " vadd vrem vsim vcard vdim vemb vgetattr vsetattr vinfo vlinks vrandmember vismember "},
};

// Null if the command is of no such type.
const MissingType* find(std::string_view name) {
  std::string word = " ";
  for (const char letter : name.substr(0, 32)) word += lower(letter);
  word += ' ';
  if (std::ranges::count(word, ' ') != 2 || word.size() <= 2) return nullptr;
  const auto found = std::ranges::find_if(kTypes, [&](const MissingType& missing) {
    return missing.commands.find(word) != std::string_view::npos;
  });
  return found == std::end(kTypes) ? nullptr : &*found;
}

}  // namespace

std::string_view missing_type(std::string_view name) {
  const MissingType* const missing = find(name);
  return missing == nullptr ? std::string_view() : missing->type;
}

std::string missing_type_note(std::string_view name) {
  const MissingType* const missing = find(name);
  return missing == nullptr ? "" : fmt::format("(this server has no {} yet)", missing->plural);
}

}  // namespace mayfly
