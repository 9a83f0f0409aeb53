// SPDX-License-Identifier: Apache-2.0
#include "store/log/log_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

#include "store/lmdb/lmdb.h"

namespace mayfly::internal {
namespace {

constexpr std::uint64_t kLogMagic = 0x316c61776679616d;  // "mayfwal1"
constexpr std::uint32_t kLogVersion = 1;
constexpr std::uint32_t kLogPage = 4096;  // segments are multiples of it
constexpr std::uint64_t kSegmentBytesMax = std::uint64_t{1} << 40;
constexpr Position kPositionMax = Position{1} << 62;  // so that sums do not overflow
constexpr std::uint64_t kFirstStep = 1 << 20;         // of filling
constexpr std::uint64_t kStep = 4 << 20;

struct LogFileHeader {
  std::uint64_t magic = kLogMagic;
  std::uint32_t version = kLogVersion;
  std::uint32_t page_bytes = kLogPage;
  UniqueId store;
  UniqueId log;
  std::uint64_t segment_bytes = 0;
  LogPlace first;
  std::uint64_t checksum = 0;  // of all before it, in every version
};
static_assert(sizeof(LogFileHeader) == 80);

struct SegmentHeader {
  UniqueId log;
  LogPlace first;
  std::uint64_t spare[3] = {};
  std::uint64_t checksum = 0;  // of all before it
};
static_assert(sizeof(SegmentHeader) == LogFile::kSegmentHeaderBytes);

template <class Header>
std::uint64_t header_checksum(const Header& header) {
  return XXH3_64bits(&header, offsetof(Header, checksum));
}

template <class Header>
std::string_view signed_bytes(Header& header) {
  header.checksum = header_checksum(header);
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

// Returns the number of bytes written; if it is less, errno says why.
std::size_t write_at(int file, std::uint64_t offset, std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count =
        ::pwrite(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = ENOSPC;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

template <class Sync>
Status sync_by(Sync sync, int file, const std::string& path) {
  int failed = 0;
  do {
    failed = sync(file);
  } while (failed != 0 && errno == EINTR);
  if (failed != 0) return system_error(errno, "sync", path);
  return Done{};
}

bool is_segment_size(std::uint64_t bytes) {
  return bytes >= LogFile::kSegmentBytesMin && bytes <= kSegmentBytesMax && bytes % kLogPage == 0;
}

std::uint64_t file_bytes_of(std::uint64_t segment_bytes) {
  return LogFile::kHeaderBytes + 2 * segment_bytes;
}

Error bad_log(Code code, const std::string& path, const char* why) {
  return Error{code, "cannot read " + path + ": " + why};
}

Error bad_segment(const std::string& path) {
  return Error{Code::corrupt,
               "cannot write " + path + ": the header of a segment is damaged (close the store)"};
}

Result<LogFileOptions> read_header(int file, const std::string& path) {
  struct stat facts {};
  if (::fstat(file, &facts) != 0) return system_error(errno, "read", path);
  LogFileHeader header;
  const ssize_t count = ::pread(file, &header, sizeof header, 0);
  if (count < 0) return system_error(errno, "read", path);
  if (count != sizeof header || header.magic != kLogMagic ||
      header.checksum != header_checksum(header)) {
    return bad_log(Code::corrupt, path,
                   "the header of the log is damaged (restore the store from a backup)");
  }
  if (header.version != kLogVersion) {
    return bad_log(Code::unsupported, path, "another version of Mayfly wrote it (use that one)");
  }
  if (!is_segment_size(header.segment_bytes) ||
      static_cast<std::uint64_t>(facts.st_size) != file_bytes_of(header.segment_bytes)) {
    return bad_log(Code::corrupt, path,
                   "the log does not have its length (restore the store from a backup)");
  }
  return LogFileOptions{.store = header.store,
                        .log = header.log,
                        .segment_bytes = header.segment_bytes,
                        .first = header.first.position};
}

}  // namespace

std::uint64_t UniqueId::word() const {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), sizeof word);
  return word | 1;
}

UniqueId UniqueId::random() {
  std::random_device device;
  UniqueId id;
  for (std::size_t at = 0; at < id.bytes.size(); at += sizeof(std::uint32_t)) {
    const std::uint32_t word = device();
    std::memcpy(&id.bytes[at], &word, sizeof word);
  }
  return id;
}

std::uint64_t first_chain(const UniqueId& log) {
  return XXH3_64bits(log.bytes.data(), log.bytes.size());
}

LogFile::LogFile(int file, std::string path, const LogFileOptions& options)
    : file_(file), path_(std::move(path)), options_(options) {
  look_at_limit();
  static_cast<void>(hold_file(file_));  // some file systems have no locks
}

LogFile::~LogFile() {
  if (map_ != nullptr) ::munmap(const_cast<char*>(map_), map_bytes_);
  if (file_ < 0) return;
  release_file(file_);
  ::close(file_);
}

// The map would keep the file open. What takes its place is not read.
void LogFile::close_in_child() {
  if (map_ != nullptr) {
    ::mmap(const_cast<char*>(map_), map_bytes_, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  }
  if (file_ >= 0) ::close(std::exchange(file_, -1));
}

Result<Ref<LogFile>> LogFile::make(const std::string& path, const LogFileOptions& options) {
  auto log = make_new(path, options);
  if (!log) return log;
  if (Status named = (*log)->take_name(); !named) return named.error();
  return log;
}

// Other users cannot read it before it has the mode of the store.
Result<Ref<LogFile>> LogFile::make_new(const std::string& path, const LogFileOptions& options) {
  if (!is_segment_size(options.segment_bytes)) {
    return Error{Code::invalid, "cannot create " + path +
                                    ": segments of this size are not possible (use a multiple of "
                                    "4096 that is at least 65536)"};
  }
  const std::string new_path = path + ".new";
  ::unlink(new_path.c_str());
  OpenFile file(::open(new_path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.number() < 0) return system_error(errno, "create", new_path);
  if (options.like >= 0) take_access(file.number(), options.like);
  Ref<LogFile> log = make_ref<LogFile>(file.number(), path, options);
  (void)file.release();  // it is the log's
  if (Status made = log->set_up(new_path); !made) {
    ::unlink(new_path.c_str());
    return made.error();
  }
  return log;
}

Status LogFile::set_up(const std::string& new_path) {
  const LogPlace first{options_.first, first_chain(options_.log)};
  LogFileHeader header;
  header.store = options_.store;
  header.log = options_.log;
  header.segment_bytes = options_.segment_bytes;
  header.first = first;
  std::string page(signed_bytes(header));
  page.resize(kHeaderBytes);
  const std::uint64_t bytes = file_bytes_of(options_.segment_bytes);
  if (::ftruncate(file_, static_cast<off_t>(bytes)) != 0 ||
      write_at(file_, 0, page) != page.size()) {
    return system_error(errno, "create", new_path);
  }
  if (Status done = map(); !done) return done;
  if (Status done = begin_segment(0, first); !done) return done;
  if (Status done = fill(0, first.position); !done) return done;
  if (Status done = fill_holes(offset_of(1), offset_of(1) + kHeaderBytes); !done) return done;
  return sync_by(::fsync, file_, new_path);
}

Status LogFile::take_name() {
  const std::string new_path = path_ + ".new";
  if (::rename(new_path.c_str(), path_.c_str()) == 0) return Done{};
  const Error problem = system_error(errno, "create", path_);
  ::unlink(new_path.c_str());
  return problem;
}

Result<Ref<LogFile>> LogFile::open(const std::string& path, bool writable) {
  OpenFile file(::open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC));
  if (file.number() < 0) return system_error(errno, "open", path);
  const Result<LogFileOptions> options = read_header(file.number(), path);
  if (!options) return options.error();
  Ref<LogFile> log = make_ref<LogFile>(file.number(), path, *options);
  (void)file.release();  // it is the log's
  if (Status mapped = log->map(); !mapped) return mapped.error();
  return log;
}

Status LogFile::map() {
  map_bytes_ = file_bytes_of(options_.segment_bytes);
  void* const map = ::mmap(nullptr, map_bytes_, PROT_READ, MAP_SHARED, file_, 0);
  if (map == MAP_FAILED) return system_error(errno, "map", path_);
  map_ = static_cast<const char*>(map);
  return Done{};
}

std::uint64_t LogFile::offset_of(int segment) const {
  return kHeaderBytes + static_cast<std::uint64_t>(segment) * options_.segment_bytes;
}

std::optional<LogPlace> LogFile::segment(int number) const {
  SegmentHeader header;
  std::memcpy(static_cast<void*>(&header), map_ + offset_of(number), sizeof header);
  if (header.log != options_.log || header.checksum != header_checksum(header) ||
      header.first.position > kPositionMax) {
    return std::nullopt;
  }
  return header.first;
}

std::optional<int> LogFile::segment_of(Position position) const {
  std::optional<int> found;
  Position found_start = 0;
  for (const int number : {0, 1}) {
    const std::optional<LogPlace> start = segment(number);
    if (!start || position < start->position || position - start->position > room()) continue;
    if (read_unchained(bytes_at(number, position), position)) return number;
    if (found && start->position < found_start) continue;
    found = number;
    found_start = start->position;
  }
  return found;
}

std::string_view LogFile::bytes_at(int segment, Position position) const {
  const std::optional<LogPlace> start = this->segment(segment);
  if (!start || position < start->position || position - start->position > room()) return {};
  const std::uint64_t skipped = position - start->position;
  const std::uint64_t begin = offset_of(segment) + kSegmentHeaderBytes + skipped;
  return {map_ + begin, data_end(segment, begin) - begin};
}

// Holes are not read: where the disk is full, a file system in memory answers with a signal.
std::uint64_t LogFile::data_end(int segment, std::uint64_t from) const {
  const std::uint64_t end = offset_of(segment) + options_.segment_bytes;
  std::atomic<std::uint64_t>& known = data_end_[static_cast<std::size_t>(segment)];
  if (known.load(std::memory_order_relaxed) == end) return end;
  const off_t hole = ::lseek(file_, static_cast<off_t>(offset_of(segment)), SEEK_HOLE);
  const std::uint64_t found = hole < 0 ? end : std::min(end, static_cast<std::uint64_t>(hole));
  known.store(found, std::memory_order_relaxed);
  return std::max(found, from);
}

Status LogFile::begin_segment(int number, const LogPlace& place) {
  const NoSizeSignal quiet(is_limited_.load(std::memory_order_relaxed));
  SegmentHeader header;
  header.log = options_.log;
  header.first = place;
  const std::string_view bytes = signed_bytes(header);
  if (write_at(file_, offset_of(number), bytes) != bytes.size()) {
    return system_error(errno, "write", path_);
  }
  return Done{};
}

Status LogFile::append(int segment, Position position, std::string_view record) {
  const std::optional<LogPlace> start = this->segment(segment);
  if (!start || position < start->position || position - start->position + record.size() > room())
      [[unlikely]] {
    return bad_segment(path_);
  }
  const std::uint64_t offset =
      offset_of(segment) + kSegmentHeaderBytes + (position - start->position);
  const NoSizeSignal quiet(is_limited_.load(std::memory_order_relaxed));
  const std::size_t done = write_at(file_, offset, record);
  if (done == record.size()) [[likely]]
    return Done{};
  const int problem = errno;
  const bool is_full = problem == ENOSPC || problem == EDQUOT || problem == EFBIG;
  if (done > 0 || !is_full) {
    constexpr std::array<char, kRecordHeaderBytes> kZeros{};
    const std::string_view zeros(kZeros.data(),
                                 done == 0 ? kZeros.size() : std::min(done, kZeros.size()));
    if (write_at(file_, offset, zeros) != zeros.size()) {
      spoiled_.store(true, std::memory_order_relaxed);
    }
  }
  return system_error(problem, "write", path_);
}

Status LogFile::fill(int segment, Position end) {
  const std::optional<LogPlace> start = this->segment(segment);
  if (!start || end < start->position) [[unlikely]]
    return bad_segment(path_);
  const std::uint64_t needed =
      std::min(options_.segment_bytes, kSegmentHeaderBytes + (end - start->position));
  std::atomic<std::uint64_t>& filled = filled_[static_cast<std::size_t>(segment)];
  for (std::uint64_t from = 0; (from = filled.load(std::memory_order_relaxed)) < needed;) {
    const std::uint64_t to =
        std::min(options_.segment_bytes, from + (from == 0 ? kFirstStep : kStep));
    Status done = fill_holes(offset_of(segment) + from, offset_of(segment) + to);
    // Less than a step may do, where the disk is full.
    if (!done && data_end(segment, 0) < offset_of(segment) + needed) return done;
    filled.store(done ? to : needed, std::memory_order_relaxed);
  }
  return Done{};
}

// A file system that does not tell its holes says that there are none: then append() makes room.
Status LogFile::fill_holes(std::uint64_t begin, std::uint64_t end) {
  const NoSizeSignal quiet(is_limited_.load(std::memory_order_relaxed));
  const std::string zeros(std::min(kFirstStep, end - begin), '\0');
  const auto last = static_cast<off_t>(end);
  for (auto at = static_cast<off_t>(begin); at < last;) {
    const off_t hole = ::lseek(file_, at, SEEK_HOLE);
    if (hole < 0 || hole >= last) break;
    at = ::lseek(file_, hole, SEEK_DATA);
    if (at < 0 || at > last) at = last;
    for (off_t from = hole; from < at; from += static_cast<off_t>(zeros.size())) {
      const auto size = std::min(zeros.size(), static_cast<std::size_t>(at - from));
      const std::string_view piece = std::string_view(zeros).substr(0, size);
      if (write_at(file_, static_cast<std::uint64_t>(from), piece) != size) {
        return system_error(errno, "write", path_);
      }
    }
  }
  return Done{};
}

std::uint64_t LogFile::allowed_segment_bytes(std::uint64_t wanted) {
  const std::uint64_t limit = file_size_limit();
  if (limit >= file_bytes_of(wanted)) return wanted;
  const std::uint64_t bytes = limit < kHeaderBytes ? 0 : (limit - kHeaderBytes) / 2;
  const std::uint64_t allowed = bytes / kLogPage * kLogPage;
  return is_segment_size(allowed) ? allowed : 0;
}

void LogFile::look_at_limit() {
  const bool is_limited = file_size_limit() < file_bytes_of(options_.segment_bytes);
  is_limited_.store(is_limited, std::memory_order_relaxed);
}

Status LogFile::sync() { return sync_by(::fdatasync, file_, path_); }

std::uint64_t LogFile::bytes_on_disk() const {
  struct stat facts {};
  if (::fstat(file_, &facts) != 0) return 0;
  return static_cast<std::uint64_t>(facts.st_blocks) * 512;
}

}  // namespace mayfly::internal
