// tally.cpp — the byte loop and the bounded table of words.
#include "tally.hpp"

#include <algorithm>
#include <array>

namespace wc {

namespace {

enum class byte_class : std::uint8_t { other, printable, space };

constexpr std::array<byte_class, 256> classes = [] {
  std::array<byte_class, 256> table{};
  for (std::size_t c = 0x21; c <= 0x7e; ++c) table[c] = byte_class::printable;
  for (unsigned char c : {' ', '\t', '\n', '\v', '\f', '\r'}) table[c] = byte_class::space;
  return table;
}();

byte_class class_of(char c) { return classes[static_cast<unsigned char>(c)]; }

}  // namespace

void word_table::add(std::string_view word, std::uint64_t count) {
  word = word.substr(0, max_length);
  if (const auto found = counts_.find(word); found != counts_.end()) {
    found->second += count;
    return;
  }
  if (counts_.size() >= max_words) drop_rarest();
  counts_.emplace(word, count);
}

void word_table::add(const word_table& other) {
  for (const auto& [word, count] : other.counts_) add(word, count);
  exact_ = exact_ && other.exact_;
}

// Drops at least half: every word that is not commoner than the median.
void word_table::drop_rarest() {
  std::vector<std::uint64_t> counts;
  counts.reserve(counts_.size());
  for (const auto& [word, count] : counts_) counts.push_back(count);
  const auto middle = counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2);
  std::nth_element(counts.begin(), middle, counts.end());
  std::erase_if(counts_, [limit = *middle](const auto& item) { return item.second <= limit; });
  exact_ = false;
}

std::vector<word_table::entry> word_table::top(std::size_t n) const {
  std::vector<entry> all;
  all.reserve(counts_.size());
  for (const auto& [word, count] : counts_) all.push_back({word, count});
  n = std::min(n, all.size());
  const auto commoner = [](const entry& a, const entry& b) {
    return a.count != b.count ? a.count > b.count : a.word < b.word;
  };
  std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(n), commoner);
  all.resize(n);
  return all;
}

void tally::add(const char* data, std::size_t size) {
  sums_.bytes += size;
  const char* const end = data + size;
  for (const char* at = data; at != end;) {
    switch (class_of(*at)) {
      case byte_class::space:
        sums_.lines += *at++ == '\n';
        if (in_word_) end_word();
        break;
      case byte_class::printable: at = add_run(at, end); break;
      case byte_class::other: ++at; break;
    }
  }
}

// From a printable byte to the first that is not. A word that lies here whole, as most do, is not copied.
const char* tally::add_run(const char* begin, const char* end) {
  const char* at = std::find_if(begin, end, [](char c) { return class_of(c) != byte_class::printable; });
  const std::string_view run(begin, static_cast<std::size_t>(at - begin));
  if (!in_word_ && at != end && class_of(*at) == byte_class::space) {
    ++sums_.words;
    words_.add(run);
  } else {
    in_word_ = true;
    word_ += run.substr(0, word_table::max_length - std::min(word_.size(), word_table::max_length));
  }
  return at;
}

void tally::end_of_file() {
  if (in_word_) end_word();
  ++sums_.files;
}

void tally::end_word() {
  ++sums_.words;
  words_.add(word_);
  word_.clear();
  in_word_ = false;
}

void tally::add(const tally& other) {
  sums_.lines += other.sums_.lines;
  sums_.words += other.sums_.words;
  sums_.bytes += other.sums_.bytes;
  sums_.files += other.sums_.files;
  words_.add(other.words_);
}

}  // namespace wc
