// modules.hpp — which file an address of code belongs to, the executable or a library, and how far into it.
//
// Read at the moment of the dump, without libc: the dynamic linker's own list is behind a lock.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::inline v0::rt {

class module_table {
 public:
  struct found {
    std::string_view path;      // empty: no file known
    std::uintptr_t offset = 0;  // from the lowest page of that file in memory
  };
  void read() noexcept;
  found find(const void* address) const noexcept;

 private:
  static constexpr std::size_t max_modules = 512, path_bytes = 60'000;   // what does not fit stays unknown
  struct module {
    std::uintptr_t start, end;  // the whole file in memory, data too
    std::uint32_t path_at, path_size;
    bool has_code;
  };
  std::string_view path(const module& m) const noexcept { return {paths_ + m.path_at, m.path_size}; }
  void add(std::uintptr_t start, std::uintptr_t end, bool code, std::string_view name) noexcept;

  std::uint32_t count_, paths_used_;
  module modules_[max_modules];
  char paths_[path_bytes];
};

}  // namespace weft::inline v0::rt
