// SPDX-License-Identifier: Apache-2.0
// The options that `mayfly import` and `mayfly export` share.

#pragma once

#include <string>

#include "cli/cli_command.h"
#include "cli/import/import_copy.h"

namespace mayfly {

struct CopyWords {
  std::string server;
  std::string match;
  std::string state;
  std::size_t batch = 1000;
  bool is_resume = false;
  bool is_restart = false;
  bool is_if_absent = false;
  bool is_strict = false;
  bool drops_field_ttls = false;

  void add_options(CliCommand command) {
    command.add_option("--match", match, "Only keys that match a pattern: session:*")
        .type_name("GLOB");
    command.add_option("--batch", batch, "About how many keys are copied at a time (1000)")
        .type_name("N")
        .range(1, 1'000'000);
    command.add_flag("--if-absent", is_if_absent, "Keys that the target has stay as they are");
    command.add_flag("--strict", is_strict, "What cannot be copied is an error, and not skipped");
    command.add_flag("--drop-field-ttls", drops_field_ttls,
                     "Where the target has no deadlines of fields, write fields without");
    command.add_option("--state", state, "Where to remember how far it has come").type_name("FILE");
    const CliOption resume =
        command.add_flag("--resume", is_resume, "There must be one to go on with");
    command.add_flag("--restart", is_restart, "Begin anew, also if there is one to go on with")
        .excludes(resume);
  }

  // `family` is what --cf says; empty if both are servers.
  CopyPlan plan(const std::string& family, const std::string& default_state, bool is_json) const {
    return {.match = match,
            .family = family,
            .state_path = state.empty() ? default_state : state,
            .keeps = is_if_absent,
            .drops_field_ttls = drops_field_ttls,
            .is_strict = is_strict,
            .must_resume = is_resume,
            .is_restart = is_restart,
            .is_json = is_json};
  }
};

}  // namespace mayfly
