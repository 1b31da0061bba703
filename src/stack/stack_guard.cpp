// stack_guard.cpp — the guard ladder of stack.hpp: marker, protection, none.
//
// The probe goes by effect, not by what the call returns: qemu-user reports success for MADV_GUARD_INSTALL
// and does nothing. write(2) from the guard must give EFAULT.
//
// Without a guard, the region is still reserved and nobody has business there, so a resident page in it is
// proof of an overflow. Rejected: a pattern at the bottom of the stack (it costs a page of memory for each
// goroutine).
#include "stack/stack_guard.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "base/atomic.hpp"
#include "base/print.hpp"
#include "os/linux/maps.hpp"
#include "os/linux/syscall.hpp"
#include "os/os.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr int madvise_guard_install = 102;   // Linux 6.13; not in the headers of glibc 2.36

// [order] relaxed, all of these: written by guard_init() before the first stack, or counters on their own.
atomic<guard_kind> kind{guard_kind::none};
atomic<bool> strict_guards{false};
atomic<std::ptrdiff_t> protections_left{0};
atomic<bool> warned{false};

bool write_faults(const std::byte* from) noexcept {
  int ends[2];
  if (os::system_call(SYS_pipe2, ends, O_CLOEXEC) != 0) return false;
  bool faults = os::system_call(SYS_write, ends[1], from, 1) == -EFAULT;
  os::system_call(SYS_close, ends[0]);
  os::system_call(SYS_close, ends[1]);
  return faults;
}

bool install_marker(std::byte* at, std::size_t bytes) noexcept {
  return os::system_call(SYS_madvise, at, bytes, madvise_guard_install) == 0;
}

bool markers_work() noexcept {
  std::size_t page = os::page_size();
  auto* p = static_cast<std::byte*>(os::allocate_pages(page));
  if (p == nullptr) return false;
  bool work = install_marker(p, page) && write_faults(p);
  os::free_pages(p, page);
  return work;
}

std::ptrdiff_t max_map_count() noexcept {
  constexpr std::ptrdiff_t kernel_default = 65530;
  auto fd = static_cast<int>(
      os::system_call(SYS_openat, AT_FDCWD, "/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC));
  if (fd < 0) return kernel_default;
  char digits[32];
  long size = os::system_call(SYS_read, fd, digits, sizeof(digits));
  os::system_call(SYS_close, fd);
  std::ptrdiff_t count = 0;
  for (long i = 0; i < size && digits[i] >= '0' && digits[i] <= '9'; ++i)
    count = count * 10 + (digits[i] - '0');
  return count > 0 ? count : kernel_default;
}

std::ptrdiff_t mappings_in_use() noexcept {
  std::ptrdiff_t count = 0;
  auto see = [](const os::mapping&, void* n) noexcept { return ++*static_cast<std::ptrdiff_t*>(n) > 0; };
  os::for_each_mapping(see, &count);
  return count;
}

bool install_protection(std::byte* at, std::size_t bytes) noexcept {
  if (protections_left.fetch_sub(1, relaxed) <= 0) {   // [order] relaxed: a counter
    protections_left.fetch_add(1, relaxed);
    return false;
  }
  return os::system_call(SYS_mprotect, at, bytes, PROT_NONE) == 0;
}

void warn_once() noexcept {
  if (warned.exchange(true, relaxed)) return;   // [order] relaxed: nothing goes with it
  printer() << "weft: goroutine stacks without guard from here on (the kernel has no MADV_GUARD_INSTALL and "
               "vm.max_map_count is nearly used up); WEFT_STACKGUARD=strict refuses them\n";
}

}  // namespace

void guard_init(bool strict) noexcept {
  // [order] relaxed: all of it before the first stack
  strict_guards.store(strict, relaxed);
  protections_left.store((max_map_count() * 8 / 10 - mappings_in_use()) / 2, relaxed);
  kind.store(markers_work() ? guard_kind::marker : guard_kind::protection, relaxed);
}

bool guard_install(std::byte* at, std::size_t bytes) noexcept {
  guard_kind k = kind.load(relaxed);   // [order] relaxed: constant after guard_init()
  if (k == guard_kind::marker && install_marker(at, bytes)) return true;
  // A marker is refused where memory is locked (mlockall): go down the ladder for this stack.
  if (k != guard_kind::none && install_protection(at, bytes)) return true;
  if (!guards_are_strict()) warn_once();
  return false;
}

bool guards_are_strict() noexcept { return strict_guards.load(relaxed); }   // [order] relaxed: a setting

bool guard_touched(const std::byte* at, std::size_t bytes) noexcept {
  unsigned char resident[64];   // a guard is 64 KiB at most
  std::size_t pages = bytes / os::page_size();
  if (pages > sizeof(resident) || os::system_call(SYS_mincore, at, bytes, resident) != 0) return false;
  for (std::size_t i = 0; i < pages; ++i)
    if (resident[i] & 1) return true;
  return false;
}

void guard_start_at(guard_kind k, std::size_t protections) noexcept {
  kind.store(k, relaxed);   // [order] relaxed: tests, one thread
  protections_left.store(static_cast<std::ptrdiff_t>(protections), relaxed);
}

}  // namespace weft::inline v0::rt
