// SPDX-License-Identifier: Apache-2.0
#include "persist/rdb/rdb_parser.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <optional>

#include "resp/numbers.h"

namespace mayfly {
namespace {

constexpr std::string_view kRedis = "REDIS";
constexpr std::string_view kValkey = "VALKEY";
constexpr int kLastRedis = 12;  // Redis 7.4 and 8

// Opcodes that only cluster nodes write.
constexpr std::uint8_t kSlotImport = 243;
constexpr std::uint8_t kFirstOpcode = kSlotImport;

// The version that a file's first bytes tell, or 0.
int version_in(std::string_view magic) {
  const std::string_view name = magic.starts_with(kRedis) ? kRedis : kValkey;
  if (!magic.starts_with(name)) return 0;
  int version = 0;
  const char* const end = magic.data() + magic.size();
  const std::from_chars_result read = std::from_chars(magic.data() + name.size(), end, version);
  return read.ec == std::errc() && read.ptr == end ? version : 0;
}

}  // namespace

bool is_readable_version(int version, const RdbChecks& checks) {
  if (checks.allows_newer && version > kLastRedis) return true;
  return (version >= 1 && version <= kLastRedis) || version == rdb::kDeadlinesVersion;
}

std::string printable(std::string_view text, std::size_t most) {
  std::string out;
  for (const char byte : text.substr(0, most)) {
    const auto code = static_cast<unsigned char>(byte);
    if (code < 0x20 || code >= 0x7F || byte == '\'' || byte == '\\') {
      out += fmt::format("\\x{:02x}", code);
    } else {
      out += byte;
    }
  }
  if (text.size() > most) out += "...";
  return out;
}

Status check_database(const RdbKey& key, int databases) {
  if (key.database < databases) return Done{};
  return Error{Code::invalid,
               fmt::format("the file has a database {}, but `databases` is {} and must be raised",
                           key.database, databases)};
}

RdbHandler::~RdbHandler() = default;
void RdbHandler::aux(std::string_view, std::string_view) {}
void RdbHandler::database(int, std::uint64_t, std::uint64_t) {}
Status RdbHandler::function(std::string_view) { return Done{}; }

RdbParser::RdbParser(ByteSource& source, RdbHandler& handler, const RdbChecks& checks)
    : reader_(source), handler_(handler), checks_(checks), values_(reader_, handler) {}

std::string RdbParser::describe_key() const {
  return fmt::format("key '{}' at offset {}", printable(name_), key_.offset);
}

// What the last steps came to. Failures of the reader go first: what follows them is made of zeros.
Result<bool> RdbParser::after(const Status& status) const {
  if (reader_.failed()) {
    const Error& error = reader_.error();
    if (error.code != Code::corrupt) return error;
    const std::string in_key = is_in_key_ ? fmt::format(", in {}", describe_key()) : "";
    return Error{Code::corrupt,
                 fmt::format("damaged at offset {}: {}{}", offset(), error.message, in_key)};
  }
  if (!status) return status.error();
  return false;
}

Result<bool> RdbParser::step() {
  if (version_ == 0) {
    const Status status = read_header();
    if (reader_.failed() && reader_.error().code == Code::corrupt) {
      return Error{Code::corrupt, "not an RDB file: it is too short for that"};
    }
    return after(status);
  }
  if (values_.has_more()) return end_part(values_.go_on());
  const std::uint64_t begin = offset();
  const std::uint8_t code = reader_.byte();
  if (reader_.failed()) return after(Done{});
  if (code < kFirstOpcode) {
    key_.offset = begin;
    return end_part(read_key(static_cast<rdb::Type>(code)));
  }
  if (code == static_cast<std::uint8_t>(rdb::Opcode::eof)) return read_end();
  const Result<bool> result = after(read_opcode(code, begin));
  reader_.release();
  return result;
}

Status RdbParser::read_header() {
  const std::string magic(reader_.raw(kRdbMagicSize));
  reader_.release();
  if (reader_.failed()) return Done{};
  const Result<int> version = rdb_version(magic, checks_);
  if (!version) return version.error();
  version_ = *version;
  return Done{};
}

Result<int> rdb_version(std::string_view magic, const RdbChecks& checks) {
  const int version = version_in(magic);
  if (version == 0) {
    return Error{Code::corrupt,
                 fmt::format("not an RDB file: it begins with '{}'", printable(magic))};
  }
  const bool is_valkeys = magic.starts_with(kValkey);
  if (!is_readable_version(version, checks) || is_valkeys != (version >= rdb::kDeadlinesVersion)) {
    return Error{Code::unsupported,
                 fmt::format("the format {} is not supported; REDIS0001 to REDIS{:04} and "
                             "VALKEY{:03} are",
                             magic, kLastRedis, rdb::kDeadlinesVersion)};
  }
  return version;
}

Result<bool> RdbParser::read_end() {
  if (version_ < kFirstWithChecksum) return true;
  const std::uint64_t computed = reader_.checksum();
  const auto stored = reader_.fixed<std::uint64_t>();
  if (reader_.failed()) return after(Done{});
  if (checks_.checksum && stored != 0 && stored != computed) {
    return Error{Code::corrupt, fmt::format("the checksum is wrong: {:016x} in the file, but its "
                                            "{} bytes have {:016x}",
                                            stored, offset() - sizeof stored, computed)};
  }
  return true;
}

Status RdbParser::read_key(rdb::Type type) {
  is_in_key_ = true;
  name_.clear();
  name_ = reader_.string();
  reader_.release();
  if (reader_.failed()) return Done{};
  key_.name = name_;
  key_.type = type;
  return values_.begin(key_, version_);
}

// After a key, or after a part of a large one.
Result<bool> RdbParser::end_part(const Status& status) {
  Result<bool> result = after(status);
  if (!result && !reader_.failed()) {
    return Error{result.error().code,
                 fmt::format("{}: {}", result.error().message, describe_key())};
  }
  if (!result || values_.has_more()) return result;
  reader_.release();
  is_in_key_ = false;
  key_ = {.database = key_.database};
  return result;
}

Status RdbParser::read_opcode(std::uint8_t code, std::uint64_t begin) {
  using enum rdb::Opcode;
  switch (static_cast<rdb::Opcode>(code)) {
    case aux: {
      const std::string_view name = reader_.string();
      const std::string_view value = reader_.string();
      if (reader_.failed()) return Done{};
      if (name == rdb::kStaleField) return read_stale(value);
      handler_.aux(name, value);
      return Done{};
    }
    case select_db:
      return select(reader_.length());
    case resize_db: {
      const std::uint64_t keys = reader_.length();
      const std::uint64_t deadlines = reader_.length();
      if (!reader_.failed()) handler_.database(key_.database, keys, deadlines);
      return Done{};
    }
    case expire_ms:
      key_.deadline = Time(Millis(reader_.fixed<std::int64_t>()));
      return Done{};
    case expire_seconds:
      key_.deadline = Time(std::chrono::seconds(reader_.fixed<std::int32_t>()));
      return Done{};
    case idle:
      key_.idle_seconds = reader_.length();
      return Done{};
    case freq:
      key_.frequency = reader_.byte();
      return Done{};
    case slot_info:
      for (int i = 0; i < 3; ++i) reader_.length();  // slot, keys, keys with deadlines: a hint
      return Done{};
    case function2: {
      const std::string_view code_text = reader_.string();
      return reader_.failed() ? Status(Done{}) : handler_.function(code_text);
    }
    case function_pre_ga:
      return refuse("functions of a release candidate of Redis 7.0", begin);
    case module_aux:
      return refuse("modules, and what they have written,", begin);
    default:
      return refuse(code == kSlotImport ? "slots that are being imported"
                                        : fmt::format("entries of the unknown kind {}", code),
                    begin);
  }
}

Status RdbParser::read_stale(std::string_view value) {
  const std::optional<std::int64_t> ms = parse_integer(value);
  if (!ms || *ms < 0) {
    reader_.fail(Code::corrupt, fmt::format("a stale time of '{}' ms", printable(value)));
  } else {
    key_.stale = Millis(*ms);
  }
  return Done{};
}

Status RdbParser::select(std::uint64_t number) {
  if (number > std::numeric_limits<int>::max()) {
    reader_.fail(Code::corrupt, fmt::format("a database of the number {}", number));
  }
  key_.database = static_cast<int>(number);
  return Done{};
}

Status RdbParser::refuse(std::string_view what, std::uint64_t begin) const {
  return Error{Code::unsupported, fmt::format("{} cannot be loaded: at offset {}", what, begin)};
}

}  // namespace mayfly
