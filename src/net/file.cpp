// file.cpp — weft::file.
//
// A call goes to the kernel's ring if there is one, else to the goroutine's own thread, which may block: then
// at most so many at once, since each costs a thread. Opening and the like always do.
#include "weft/file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "netpoll/uring.hpp"
#include "sched/inside.hpp"
#include "weft/blocking.hpp"
#include "weft/semaphore.hpp"

namespace weft::inline v0 {

using namespace rt;

namespace {

constexpr std::ptrdiff_t most_blocked = 12;

bool is_plain_thread() noexcept {
  const machine* mp = this_machine();
  return mp == nullptr || mp->current->is_thread;
}

// `call` returns what a system call of libc does.
template <class Call>
ssize_t on_a_thread(Call&& call) {
  static counting_semaphore<most_blocked> places(most_blocked);
  const auto patiently = [&] {
    ssize_t n;
    do n = call();
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
  };
  if (is_plain_thread()) return patiently();
  places.acquire();
  const ssize_t n = blocking(patiently);
  places.release();
  return n;
}

template <class Call>
ssize_t on_the_ring(const io_uring_sqe& what, Call&& otherwise) {
  for (;;) {
    std::int32_t result = 0;
    if (is_plain_thread() || !uring_call(what, result)) return on_a_thread(otherwise);
    if (result != -EINTR && result != -EAGAIN) return result;
  }
}

io_uring_sqe entry(std::uint8_t what, int fd, const void* at, std::size_t size,
                   std::uint64_t offset) noexcept {
  constexpr std::size_t most = 1 << 30;              // the kernel's own limit is 2 GiB
  io_uring_sqe e{};
  e.opcode = what;
  e.fd = fd;
  e.addr = reinterpret_cast<std::uintptr_t>(at);
  e.len = static_cast<std::uint32_t>(std::min(size, most));
  e.off = offset;
  return e;
}

constexpr std::uint64_t here = ~std::uint64_t{0};    // the file's position

ssize_t read_once(int fd, detail::bytes into, std::uint64_t offset) {
  return on_the_ring(entry(IORING_OP_READ, fd, into.data(), into.size(), offset), [&] {
    return offset == here ? ::read(fd, into.data(), into.size())
                          : ::pread(fd, into.data(), into.size(), static_cast<off_t>(offset));
  });
}

ssize_t write_once(int fd, detail::const_bytes from, std::uint64_t offset) {
  return on_the_ring(entry(IORING_OP_WRITE, fd, from.data(), from.size(), offset), [&] {
    return offset == here ? ::write(fd, from.data(), from.size())
                          : ::pwrite(fd, from.data(), from.size(), static_cast<off_t>(offset));
  });
}

// All of it, unless the file ends (0) or there is an error.
template <class Bytes, class Once>
std::size_t whole(Bytes bytes, std::uint64_t offset, std::error_code& ec, Once&& once) {
  std::size_t done = 0;
  ec.clear();
  while (done < bytes.size()) {
    const ssize_t n = once(bytes.subspan(done), offset == here ? here : offset + done);
    if (n < 0) ec = {static_cast<int>(-n), std::system_category()};
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

int to_flags(open_mode mode) noexcept {
  const auto has = [mode](open_mode m) {
    return (static_cast<unsigned>(mode) & static_cast<unsigned>(m)) != 0;
  };
  const bool writes = has(open_mode::write) || has(open_mode::append);
  return O_CLOEXEC | (!writes ? O_RDONLY : has(open_mode::read) ? O_RDWR : O_WRONLY) |
         (has(open_mode::append) ? O_APPEND : 0) | (has(open_mode::create) ? O_CREAT : 0) |
         (has(open_mode::exclusive) ? O_EXCL : 0) | (has(open_mode::truncate) ? O_TRUNC : 0) |
         (has(open_mode::direct) ? O_DIRECT : 0);
}

}  // namespace

file file::open(const std::filesystem::path& path, open_mode mode, unsigned permissions,
                std::error_code& ec) {
  ec.clear();
  file made;
  const ssize_t fd = on_a_thread([&] { return ::open(path.c_str(), to_flags(mode), permissions); });
  if (fd < 0)
    ec = {static_cast<int>(-fd), std::system_category()};
  else
    made.number_ = static_cast<int>(fd);
  return made;
}

std::size_t file::read_at(detail::bytes into, std::uint64_t offset, std::error_code& ec) {
  return whole(into, offset, ec,
               [this](auto part, std::uint64_t at) { return read_once(number_, part, at); });
}
std::size_t file::write_at(detail::const_bytes from, std::uint64_t offset, std::error_code& ec) {
  return whole(from, offset, ec,
               [this](auto part, std::uint64_t at) { return write_once(number_, part, at); });
}
std::size_t file::read(detail::bytes into, std::error_code& ec) { return read_at(into, here, ec); }
std::size_t file::write(detail::const_bytes from, std::error_code& ec) { return write_at(from, here, ec); }

void file::sync(bool data_only, std::error_code& ec) {
  ec.clear();
  io_uring_sqe e = entry(IORING_OP_FSYNC, number_, nullptr, 0, 0);
  e.fsync_flags = data_only ? IORING_FSYNC_DATASYNC : 0;
  const ssize_t n = on_the_ring(e, [&] { return data_only ? ::fdatasync(number_) : ::fsync(number_); });
  if (n < 0) ec = {static_cast<int>(-n), std::system_category()};
}

std::uint64_t file::size() const {
  struct stat s;
  if (::fstat(number_, &s) < 0) throw std::system_error(errno, std::system_category(), "fstat");
  return static_cast<std::uint64_t>(s.st_size);
}

void file::close() noexcept {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

std::vector<std::string> read_directory(const std::filesystem::path& path) {
  std::vector<std::string> names;
  std::error_code ec;
  on_a_thread([&]() -> ssize_t {
    for (std::filesystem::directory_iterator at(path, ec), end; !ec && at != end; at.increment(ec))
      names.push_back(at->path().filename());
    return 0;
  });
  detail::throw_if(ec, "read_directory");
  return names;
}

}  // namespace weft::inline v0
