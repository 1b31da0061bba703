// names.hpp — from module and offset to functions, files and lines, by the debug information in the module's
// file.
//
// A frame can stand for several functions: those inlined at that place come first, the one they are in comes
// last.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft::symbolizer {

struct function {
  std::string linkage_name;   // mangled, or the plain name where there is no other
  std::string name;           // to show
  std::string file;           // empty: not known
  int line = 0;
  bool inlined = false;
};

struct place {
  std::vector<function> functions;   // innermost first; empty: nothing known
  std::uint64_t offset = 0;          // from the start of the outermost function
};

class names {
 public:
  names();
  ~names();
  names(const names&) = delete;
  names& operator=(const names&) = delete;

  // `offset` is from where the module's lowest page lies in memory. `exact`: the offset of the instruction
  // itself, not that of the one after a call.
  place find(const std::string& module, std::uint64_t offset, bool exact);

 private:
  struct module;
  module& open(const std::string& path);
  std::map<std::string, module> modules_;
};

}  // namespace weft::symbolizer
