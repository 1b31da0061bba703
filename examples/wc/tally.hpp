// tally.hpp — lines, words and the commonest words of a stream of bytes, counted as `LC_ALL=C wc -lw` counts.
//
// A word, as GNU wc sees it in the C locale: white space (space, \t \n \v \f \r) ends one; a printable byte
// begins or continues one; any other byte (control characters, 0x80 to 0xff) does neither, so it joins what
// is around it, and alone it is no word.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace wc {

// How often each word was seen, in bounded memory: when `max_words` different ones are held, the rarest are
// dropped, and counts are exact no longer. Words are known by their first `max_length` bytes.
class word_table {
 public:
  static constexpr std::size_t max_words = 200'000;
  static constexpr std::size_t max_length = 48;
  struct entry {
    std::string word;
    std::uint64_t count;
  };

  void add(std::string_view word, std::uint64_t count = 1);
  void add(const word_table& other);
  std::vector<entry> top(std::size_t n) const;   // commonest first, equal ones by name
  bool exact() const noexcept { return exact_; }

 private:
  struct hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const noexcept {
      return std::hash<std::string_view>{}(word);
    }
  };
  void drop_rarest();

  std::unordered_map<std::string, std::uint64_t, hash, std::equal_to<>> counts_;
  bool exact_ = true;
};

struct totals {
  std::uint64_t lines = 0;
  std::uint64_t words = 0;
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
};

class tally {
 public:
  void add(const char* data, std::size_t size);   // the next bytes of the current file
  void end_of_file();                             // a word ends here at the latest
  void add(const tally& other);

  const totals& sums() const noexcept { return sums_; }
  const word_table& words() const noexcept { return words_; }

 private:
  const char* add_run(const char* begin, const char* end);
  void end_word();

  totals sums_;
  word_table words_;
  bool in_word_ = false;
  std::string word_;   // of a word in several runs: the printable bytes so far, as many as the table wants
};

}  // namespace wc
