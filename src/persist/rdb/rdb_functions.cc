// SPDX-License-Identifier: Apache-2.0
#include "persist/rdb/rdb_functions.h"

#include "persist/disk/byte_sink.h"
#include "persist/rdb/rdb_format.h"
#include "persist/rdb/rdb_reader.h"
#include "persist/rdb/rdb_restore.h"
#include "persist/rdb/rdb_save.h"
#include "persist/rdb/rdb_writer.h"

namespace mayfly {

std::string dump_functions(std::span<const std::string> codes) {
  StringSink sink;
  RdbWriter writer(sink, {.checksums = false});  // the payload has its own
  for (const std::string& code : codes) writer.function(code);
  (void)writer.flush();  // a string takes everything
  append_payload_footer(sink.bytes, rdb::kPlainVersion);
  return std::move(sink.bytes);
}

Result<std::vector<std::string>> read_functions(std::string_view payload, const RdbChecks& checks) {
  if (const Status status = check_payload(payload, checks); !status) return status.error();
  const std::string_view body = payload.substr(0, payload.size() - kPayloadFooterSize);
  StringSource source(body);
  RdbReader reader(source);
  std::vector<std::string> codes;
  while (reader.offset() < body.size()) {
    const auto opcode = static_cast<rdb::Opcode>(reader.byte());
    if (opcode == rdb::Opcode::function_pre_ga) {
      return Error{Code::unsupported, "Pre-GA function format not supported"};
    }
    if (opcode != rdb::Opcode::function2) {
      return Error{Code::corrupt, "given type is not a function"};
    }
    const std::string_view code = reader.string();
    if (reader.failed()) return Error{Code::corrupt, "failed loading the given functions payload"};
    codes.emplace_back(code);
  }
  return codes;
}

}  // namespace mayfly
