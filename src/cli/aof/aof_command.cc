// SPDX-License-Identifier: Apache-2.0
// `mayfly aof FOLDER`: checks an append-only file, and cuts off its damaged end.

#include <fmt/format.h>

#include "cli/aof/aof_check.h"
#include "cli/commands.h"
#include "text/byte_text.h"
#include "text/json.h"

namespace mayfly {
namespace {

constexpr const char* kAofExamples =
    "Examples:\n"
    "  mayfly aof /var/lib/mayfly/appendonlydir          check for damage; says where it is\n"
    "  mayfly aof /var/lib/mayfly/appendonlydir --fix    cut off the damaged end\n"
    "\n"
    "A server cuts off by itself what a power cut leaves: a command or a transaction that is not\n"
    "whole, and zeros (aof-load-truncated). Anything else it refuses, and this command says what "
    "it\n"
    "is. --fix cuts the last file where the damage begins and keeps what it cuts off in a file\n"
    "beside it, with the end .cut-1: commands behind the damage are lost to the log. Stop the\n"
    "server before. Damage in other files cannot be fixed so: restore a backup.\n"
    "Exit code 0: no damage, or none any more; 1: damaged or unreadable.";

struct AofArgs {
  std::string path;
  bool checks = false;
  bool fixes = false;
  bool is_json = false;
};

std::string report_text(const AofCheckReport& report) {
  std::string text;
  for (const AofCheckedFile& file : report.files) {
    text += fmt::format("{}: {} bytes", file.name, file.bytes);
    if (file.keys > 0) text += fmt::format(", {} keys", file.keys);
    text += fmt::format(", {} commands\n", file.commands);
  }
  if (!report.damage) return text + "ok: no damage\n";
  const AofDamage& damage = *report.damage;
  return text + fmt::format("damaged: {} is whole up to offset {}; then {} bytes: {}\n",
                            damage.path, damage.at, damage.bytes, damage.what);
}

std::string advice(const AofDamage& damage) {
  if (!damage.can_be_cut)
    return "this cannot be cut off, as it is not at the end: restore a backup";
  return damage.is_harmless
             ? "a server cuts this off when it starts, unless aof-load-truncated is 'no'; so does "
               "--fix"
             : "--fix cuts it off and keeps it in a file beside";
}

std::string report_json(const AofCheckReport& report, const std::string& kept) {
  Json json;
  json.open('{');
  json.member("ok", !report.damage || !kept.empty());
  json.key("files");
  json.open('[');
  for (const AofCheckedFile& file : report.files) {
    json.open('{');
    json.member("name", std::string_view(file.name));
    json.member("bytes", file.bytes);
    json.member("keys", file.keys);
    json.member("commands", file.commands);
    json.close('}');
  }
  json.close(']');
  if (report.damage) {
    const AofDamage& damage = *report.damage;
    json.key("damage");
    json.open('{');
    json.member("path", std::string_view(damage.path));
    json.member("offset", damage.at);
    json.member("bytes", damage.bytes);
    json.member("what", std::string_view(damage.what));
    json.member("can_be_cut", damage.can_be_cut);
    json.member("cut_to", std::string_view(kept));
    json.close('}');
  }
  json.close('}');
  return json.text();
}

Result<Exit> run_aof(const AofArgs& args) {
  SystemDisk disk;
  const Result<AofOptions> options = find_aof_options(disk, args.path);
  if (!options) return options.error();
  AofCheck check(disk, *options);
  const Result<AofCheckReport> report = check.run();
  if (!report) return report.error();
  std::string kept;
  if (args.fixes && report->damage && report->damage->can_be_cut) {
    const Result<std::string> cut = check.cut(*report->damage);
    if (!cut) return cut.error();
    kept = *cut;
  }
  if (args.is_json) {
    fmt::print("{}", report_json(*report, kept));
  } else {
    fmt::print("{}", report_text(*report));
    if (!kept.empty()) {
      fmt::print("cut off; what was there is in {}\n", kept);
    } else if (report->damage) {
      fmt::print("do: {}\n", advice(*report->damage));
    }
  }
  return report->damage && kept.empty() ? Exit::failed : Exit::ok;
}

}  // namespace

void add_aof_command(Program& program) {
  CliCommand command = program.add("aof", "Check or mend an append-only file", kAofExamples);
  AofArgs* const args = program.keep<AofArgs>();
  command.add_option("FOLDER", args->path, "Its folder (appenddirname), or its manifest")
      .required();
  const CliOption check = command.add_flag("--check", args->checks, "Only check (the default)");
  command.add_flag("--fix", args->fixes, "Cut off the damaged end, and keep it beside")
      .excludes(check);
  command.add_flag("--json", args->is_json, "Print the result as JSON");
  program.on(command, [args] { return run_aof(*args); });
}

}  // namespace mayfly
