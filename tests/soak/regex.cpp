// regex.cpp — std::regex: deep recursion, many small allocations, the locale.
#include <regex>

#include "kit.hpp"

namespace soak {

void match(kit& mine) {
  const std::regex pattern("(a|b)*c([0-9]+)");
  std::string text;
  for (std::size_t n = mine.random.index(12); n > 0; --n) text += mine.random.below(2) != 0 ? 'a' : 'b';
  const std::string number = std::to_string(mine.random.below(100'000));
  std::smatch found;
  const std::string whole = text + 'c' + number;
  require(std::regex_match(whole, found, pattern) && found[2] == number, "std::regex found something else");
  require(!std::regex_match(text + 'd', pattern), "std::regex found what is not there");
}

}  // namespace soak
