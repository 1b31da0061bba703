// naming.hpp — a raw dump with functions and lines, by a helper process: libdw allocates and locks, which a
// dying process must not.
//
//   the dump is written twice, to the reader and into a memory file; weft-symbolizer then reads the file
//
// The program is looked for once, outside: WEFT_SYMBOLIZE (`off`: none; else a path), the build tree, the
// installation, beside the executable. Where there is none, or it fails, the raw dump is what there is.
#pragma once
#include <cstdint>

namespace weft::inline v0::rt {

void find_symbolizer() noexcept;

class naming {
 public:
  naming() noexcept;           // wanted and possible: fd() takes the raw text
  ~naming();
  naming(const naming&) = delete;
  naming& operator=(const naming&) = delete;

  int fd() const noexcept { return fd_; }   // -1: no names will come
  // Writes the named dump to `out`; waits for it at most `limit_ns`. `all`: with the runtime's own frames.
  void show(int out, bool all, std::int64_t limit_ns) noexcept;

 private:
  int fd_;
};

}  // namespace weft::inline v0::rt
