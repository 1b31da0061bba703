// memory.cpp — address space and pages. The kernel rounds every length up to whole pages.
#include <sys/auxv.h>
#include <sys/mman.h>

#include "os/linux/syscall.hpp"
#include "os/os.hpp"

namespace weft::inline v0::rt::os {
namespace {

void* map(std::size_t bytes, int protection, int extra_flags) noexcept {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | extra_flags;
  long p = system_call(SYS_mmap, nullptr, bytes, protection, flags, -1, 0);
  return p < 0 && p > -4096 ? nullptr : reinterpret_cast<void*>(p);
}

}  // namespace

std::size_t page_size() noexcept {
  static atomic<std::size_t> known{0};
  std::size_t size = known.load(relaxed);   // [order] relaxed: every thread would store the same value
  if (size == 0) {
    size = getauxval(AT_PAGESZ);
    known.store(size, relaxed);
  }
  return size;
}

void* reserve(std::size_t bytes) noexcept { return map(bytes, PROT_NONE, MAP_NORESERVE); }

bool commit(void* p, std::size_t bytes) noexcept {
  return system_call(SYS_mprotect, p, bytes, PROT_READ | PROT_WRITE) == 0;
}

void* allocate_pages(std::size_t bytes) noexcept { return map(bytes, PROT_READ | PROT_WRITE, 0); }

void* grow_pages(void* p, std::size_t old_bytes, std::size_t new_bytes) noexcept {
  long q = system_call(SYS_mremap, p, old_bytes, new_bytes, MREMAP_MAYMOVE);
  return q < 0 && q > -4096 ? nullptr : reinterpret_cast<void*>(q);
}

void free_pages(void* p, std::size_t bytes) noexcept { system_call(SYS_munmap, p, bytes); }

void give_back(void* p, std::size_t bytes) noexcept { system_call(SYS_madvise, p, bytes, MADV_DONTNEED); }

void advise_huge(void* p, std::size_t bytes, bool huge) noexcept {
  system_call(SYS_madvise, p, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

}  // namespace weft::inline v0::rt::os
