// modules.cpp — neighbouring mappings of one file are one module.
#include "observe/modules.hpp"

#include <string.h>

#include "os/linux/maps.hpp"

namespace weft::inline v0::rt {

void module_table::read() noexcept {
  count_ = paths_used_ = 0;
  auto see = [](const os::mapping& m, void* table) noexcept {
    bool is_file = m.name.starts_with('/') || m.name == "[vdso]";
    if (is_file) static_cast<module_table*>(table)->add(m.start, m.end, m.executable, m.name);
    return true;
  };
  os::for_each_mapping(see, this);
}

void module_table::add(std::uintptr_t start, std::uintptr_t end, bool code, std::string_view name) noexcept {
  if (count_ > 0 && path(modules_[count_ - 1]) == name) {
    module& last = modules_[count_ - 1];
    last.end = end;
    last.has_code |= code;
    return;
  }
  // A data file mapped many times, as databases do, is no module: its place is used again.
  if (count_ > 0 && !modules_[count_ - 1].has_code) paths_used_ = modules_[--count_].path_at;
  if (count_ == max_modules || name.size() > path_bytes - paths_used_) return;
  modules_[count_++] = {start, end, paths_used_, static_cast<std::uint32_t>(name.size()), code};
  memcpy(paths_ + paths_used_, name.data(), name.size());
  paths_used_ += static_cast<std::uint32_t>(name.size());
}

module_table::found module_table::find(const void* address) const noexcept {
  auto at = reinterpret_cast<std::uintptr_t>(address);
  for (std::uint32_t i = 0; i < count_; ++i) {
    const module& m = modules_[i];
    if (m.start <= at && at < m.end) return {path(m), at - m.start};
  }
  return {};
}

}  // namespace weft::inline v0::rt
