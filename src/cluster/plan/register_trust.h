// SPDX-License-Identifier: Apache-2.0
// RegisterTrust: decides whether an answer is of the register that this process works with, and
// not of an older state of it. An etcd that was restored from a snapshot has another id, or lower
// versions.
//
//   const std::uint64_t floor = trust.floor();   // when a question is asked
//   ...
//   if (Status fits = trust.check(answer, floor); !fits) return fits.error();
//
// Another id may be a mistake that is mended, so answers of the right register are used again. A
// lower version is final: later versions of that register belong to another history.
//
// Threads: one.

#pragma once

#include <cstdint>
#include <string>

#include "cluster/register.h"
#include "mayfly/result.h"

namespace mayfly {

class RegisterTrust {
 public:
  // From now on answers of other registers, or with a lower version, are refused.
  void trust(const RegisterPoint& point);

  // From now on all answers are refused, for this reason.
  void distrust(std::string why);

  // The highest version that was seen. The answers to two questions may overtake each other, so an
  // answer is compared with the floor at the time of its question.
  std::uint64_t floor() const { return seen_.version; }

  // id 0: not known. version 0: the answer may be older than others, so only its id counts.
  Status check(const RegisterPoint& answer, std::uint64_t floor);

  // A notice had this version: answers to later questions have at least this version.
  void saw(std::uint64_t version);

  // Why the last answer was refused; empty: it was not.
  const std::string& problem() const { return problem_; }
  bool is_final() const { return is_final_; }

 private:
  RegisterPoint seen_;
  std::string problem_;
  bool is_final_ = false;
};

// "the register is not usable: it is another one (id 5), ..."
std::string other_register_text(const RegisterPoint& answer, const RegisterPoint& known);
std::string older_shard_text(const std::string& shard, std::uint64_t epoch, std::uint64_t known);
std::string older_register_text(const RegisterPoint& answer, std::uint64_t known);

}  // namespace mayfly
