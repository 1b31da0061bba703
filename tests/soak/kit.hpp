// kit.hpp — what one goroutine of a soak works with, and the list of what it can do.
//
// An operation is a short piece (20 to 500 us) of code that knows nothing of Weft. It checks its own results:
// `wrong` is thrown when one is not what it must be.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "support/dice.hpp"

namespace soak {

using weft_test::dice;

struct wrong : std::logic_error {
  using std::logic_error::logic_error;
};
inline void require(bool holds, const char* what) {
  if (!holds) throw wrong(what);
}

// Memory with a mark at both ends.
class block {
 public:
  void renew(std::size_t size, unsigned char mark) {
    bytes_.reset(new unsigned char[size]);
    size_ = size;
    mark_ = mark;
    bytes_[0] = bytes_[size_ - 1] = mark;
  }
  bool is_as_written() const { return !bytes_ || (bytes_[0] == mark_ && bytes_[size_ - 1] == mark_); }

 private:
  std::unique_ptr<unsigned char[]> bytes_;
  std::size_t size_ = 0;
  unsigned char mark_ = 0;
};

class pipe_pair {   // opened at the first use
 public:
  pipe_pair() = default;
  pipe_pair(const pipe_pair&) = delete;
  ~pipe_pair();
  int in() { return open(0); }
  int out() { return open(1); }

 private:
  int open(int end);
  int ends_[2] = {-1, -1};
};

struct kit {
  explicit kit(std::uint64_t seed) : random(seed) {}
  dice random;
  std::array<block, 32> blocks;
  pipe_pair pipe;
};

struct operation {
  const char* name;
  const char* shows;
  void (*run)(kit&);
  bool in_mix;                        // `mix` stands for all of these
};
std::span<const operation> operations();

void allocate(kit&);                  // memory.cpp
void allocate_large(kit&);
void format(kit&);                    // streams.cpp
void write_file(kit&);
void throw_and_catch(kit&);           // exceptions.cpp
void load_library(kit&);              // loader.cpp
void tell_time(kit&);                 // libc.cpp
void read_environment(kit&);
void use_pipe(kit&);
void sleep_a_little(kit&);
void match(kit&);                     // regex.cpp

}  // namespace soak
