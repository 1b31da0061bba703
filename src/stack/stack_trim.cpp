// stack_trim.cpp — the pages of a parked stack that lie below its stack pointer: used once, and not now.
#include <sys/syscall.h>

#include <algorithm>

#include "os/linux/syscall.hpp"
#include "os/os.hpp"
#include "stack/stack.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::size_t red_zone = 128;              // a leaf function's, below the stack pointer (x86-64)
constexpr std::size_t pages_at_once = 64;

bool any_resident(std::byte* from, std::size_t pages) noexcept {
  unsigned char resident[pages_at_once];
  if (os::system_call(SYS_mincore, from, pages * os::page_size(), resident) != 0) return false;
  return std::any_of(resident, resident + pages, [](unsigned char r) { return (r & 1) != 0; });
}

}  // namespace

// Downwards, as long as there is something: a stack is used from the top.
std::size_t stack_trim(const stack& s, const void* sp) noexcept {
  const std::size_t page = os::page_size();
  const auto in_use = (reinterpret_cast<std::uintptr_t>(sp) - red_zone) & ~(page - 1);
  auto* end = reinterpret_cast<std::byte*>(in_use);
  std::byte* from = end;
  while (from > s.bottom) {
    const std::size_t pages = std::min(pages_at_once, static_cast<std::size_t>(from - s.bottom) / page);
    if (pages == 0 || !any_resident(from - pages * page, pages)) break;
    from -= pages * page;
  }
  const auto bytes = static_cast<std::size_t>(end - from);
  if (bytes != 0) os::give_back(from, bytes);
  return bytes;
}

}  // namespace weft::inline v0::rt
