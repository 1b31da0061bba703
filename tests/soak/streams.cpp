// streams.cpp — iostreams: locales, facets and their counts, stdio's locks below a filebuf.
#include <fstream>
#include <iomanip>
#include <sstream>

#include "kit.hpp"

namespace soak {

void format(kit& mine) {
  std::ostringstream out;
  long sum = 0;
  for (int i = 0; i < 16; ++i) {
    const auto n = static_cast<long>(mine.random.below(1'000'000));
    sum += n;
    out << std::setw(i) << n << ' ';
  }
  out << std::fixed << std::setprecision(2) << 0.5;
  std::istringstream in(out.str());
  for (long n; sum != 0 && in >> n && n <= sum;) sum -= n;
  require(sum == 0, "numbers written and read back differ");
}

void write_file(kit& mine) {
  std::ofstream out("/dev/null");
  for (int i = 0; i < 8; ++i) out << mine.random.next() << '\n' << std::flush;
  require(out.good(), "ofstream to /dev/null failed");
}

}  // namespace soak
