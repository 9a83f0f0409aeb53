// SPDX-License-Identifier: Apache-2.0
// Graveyard: large values that nobody can see any more, freed a slice at a time.
//
// To free a hash of a million fields takes a tenth of a second. So whoever removes one buries it
// here, and the event loop calls free_some() between other work until nothing is left.

#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace mayfly {

class TableHash;
struct Contents;

class Graveyard {
 public:
  Graveyard();
  ~Graveyard();

  void bury(std::unique_ptr<TableHash> hash);
  void bury(std::unique_ptr<Contents> contents);

  // Frees at most about `limit` keys and fields. Returns how many.
  std::size_t free_some(std::size_t limit);

  bool is_empty() const { return hashes_.empty() && contents_.empty(); }
  std::size_t waiting() const;  // keys and fields yet to be freed, about

 private:
  std::size_t free_contents(std::size_t limit);

  std::vector<std::unique_ptr<TableHash>> hashes_;
  std::vector<std::unique_ptr<Contents>> contents_;
};

}  // namespace mayfly
