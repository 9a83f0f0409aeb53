// SPDX-License-Identifier: Apache-2.0
// The handlers of commands that answer so that clients get along; their rows are in
// compatibility_commands.cc.

#pragma once

namespace mayfly {

class Call;

// acl_commands.cc: there is one user, who may do everything.
void acl_whoami(Call& call);
void acl_cat(Call& call);
void acl_list(Call& call);
void acl_users(Call& call);
void acl_getuser(Call& call);
void acl_genpass(Call& call);
void acl_log(Call& call);
void acl_unsupported(Call& call);
void acl_no_file(Call& call);
void acl_help(Call& call);

// scripting_commands.cc: there are no scripts and no functions.
void script_flush(Call& call);
void script_exists(Call& call);
void script_help(Call& call);
void function_flush(Call& call);
void function_list(Call& call);
void function_stats(Call& call);
void function_delete(Call& call);
void function_help(Call& call);
void module_list(Call& call);
void module_help(Call& call);
void scripting_kill(Call& call);
void scripting_unsupported(Call& call);
void evalsha(Call& call);
void fcall(Call& call);

// cluster_commands.cc: there is no cluster.
void cluster_disabled(Call& call);
void cluster_keyslot(Call& call);
void cluster_help(Call& call);

}  // namespace mayfly
