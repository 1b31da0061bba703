// wc_test.cpp — weft-wc says what `find PATH -type f -print0 | LC_ALL=C wc -lw --files0-from=-` says.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "shell.hpp"

namespace {

using namespace example_test;
using namespace std::string_literals;

class wc : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directory(tree_); }

  void write(const fs::path& name, const std::string& bytes) {
    fs::create_directories((tree_ / name).parent_path());
    std::ofstream(tree_ / name, std::ios::binary) << bytes;
  }
  outcome count(const std::string& arguments) {
    return scratch_.run("'" WEFT_BINARY_DIR "/examples/weft-wc' " + arguments);
  }
  outcome count_tree() { return count(quoted(tree_)); }
  std::string expected() {
    const std::string files = "find " + quoted(tree_) + " -type f -print0";
    return scratch_.run(files + " | LC_ALL=C wc -lw --files0-from=-").last_line();
  }

  const scratch scratch_;
  const fs::path tree_ = scratch_.path() / "tree";
};

std::string random_bytes(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  // Mostly the bytes that decide something: spaces of all kinds, letters, controls, the upper half.
  const std::string interesting = " \t\n\v\f\rab~!\x01\x7f\x80\xa0\xff\0"s;
  for (char& c : bytes)
    c = random() % 4 == 0 ? static_cast<char>(random() & 0xff) : interesting[random() % interesting.size()];
  return bytes;
}

}  // namespace

TEST_F(wc, counts_every_kind_of_content_as_wc_does) {
  write("empty", "");
  write("no newline at the end", "one two\nthree");
  write("only spaces", " \t\v\f\r \n");
  write("controls", "\001 \002a\003 b\033c \033 \177 x\200y \200 \377\n");
  write("nul", "a\0b \0 c\n"s);
  write("one long word", std::string(1 << 20, 'x'));
  write("large", random_bytes(3 << 20, 1));
  for (unsigned i = 0; i < 200; ++i) write("many/" + std::to_string(i), random_bytes(i * 7, i + 2));
  const outcome ours = count_tree();
  EXPECT_EQ(ours.status, 0) << ours.err;
  EXPECT_EQ(ours.last_line(), expected());
  EXPECT_EQ(ours.err, "");
}

// A buffer's end may fall anywhere in a word.
TEST_F(wc, counts_across_the_ends_of_buffers) {
  const std::string words = "aa bbb\ncc ";
  for (std::size_t size : {131071u, 131072u, 131073u, 262144u, 262145u}) {
    std::string text;
    while (text.size() < size) text += words;
    write(std::to_string(size), text.substr(0, size));
  }
  EXPECT_EQ(count_tree().last_line(), expected());
}

TEST_F(wc, takes_any_file_name) {
  for (const char* name : {"new\nline", "-n", "--help", " ", "quote'\"", "\\", "\xff\xfe", "tab\t", "*"})
    write(fs::path("odd") / name, "one two\n");
  EXPECT_EQ(count_tree().last_line(), "9 18 total");
  EXPECT_EQ(count_tree().last_line(), expected());
}

TEST_F(wc, follows_no_links_and_reads_regular_files_only) {
  write("a/b/file", "one\n");
  write("second", "two\n");
  fs::create_symlink("file", tree_ / "a/b/link");
  fs::create_directory_symlink("..", tree_ / "a/b/loop");
  fs::create_symlink("nowhere", tree_ / "dangling");
  fs::create_hard_link(tree_ / "second", tree_ / "second name");
  ASSERT_EQ(mkfifo((tree_ / "pipe").c_str(), 0600), 0);
  const outcome ours = count_tree();
  EXPECT_EQ(ours.status, 0) << ours.err;
  EXPECT_EQ(ours.last_line(), "3 3 total");
  EXPECT_EQ(ours.last_line(), expected());
}

TEST_F(wc, any_number_of_counters_gives_the_same) {
  for (unsigned i = 0; i < 50; ++i)
    write(std::to_string(i % 5) + "/" + std::to_string(i), random_bytes(5000, i));
  const std::string wanted = expected();
  for (const char* counters : {"-j 1", "-j2", "-j 1024"})
    EXPECT_EQ(count(counters + " "s + quoted(tree_)).last_line(), wanted) << counters;
}

TEST_F(wc, several_paths_count_one_after_the_other) {
  write("a/one", "1 2\n");
  write("b/two", "3\n");
  const std::string a = quoted(tree_ / "a"), b = quoted(tree_ / "b/two");
  EXPECT_EQ(count(a + " " + b + " " + a).last_line(), "3 5 total");
}

TEST_F(wc, names_and_counts_what_it_cannot_read) {
  write("good", "one two\n");
  const outcome ours = count("'" + tree_.string() + "' '" + (tree_ / "van\nished").string() + "'");
  EXPECT_EQ(ours.status, 1);
  EXPECT_EQ(ours.last_line(), "1 2 total");
  EXPECT_NE(ours.err.find("van\\012ished: No such file or directory\n"), std::string::npos) << ours.err;
  EXPECT_NE(ours.err.find("1 could not be read"), std::string::npos) << ours.err;
}

TEST_F(wc, goes_on_after_a_file_without_permission) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  write("closed", "secret\n");
  write("open", "one\n");
  fs::permissions(tree_ / "closed", fs::perms::none);
  const outcome ours = count_tree();
  EXPECT_EQ(ours.status, 1);
  EXPECT_EQ(ours.last_line(), "1 1 total");
  EXPECT_NE(ours.err.find("closed: Permission denied"), std::string::npos) << ours.err;
}

TEST_F(wc, lists_the_commonest_words_first) {
  write("text", "b b b a a c\nd\n");
  const outcome ours = count_tree();
  const auto b = ours.out.find("3  b\n"), a = ours.out.find("2  a\n"), c = ours.out.find("1  c\n");
  ASSERT_NE(b, std::string::npos) << ours.out;
  ASSERT_NE(a, std::string::npos) << ours.out;
  ASSERT_NE(c, std::string::npos) << ours.out;
  EXPECT_LT(b, a);
  EXPECT_LT(a, c);
}

TEST_F(wc, refuses_a_wrong_command_line) {
  for (const char* wrong : {"-j 0", "-j x", "-j", "-j 1025", "--no-such-option"}) {
    const outcome ours = count(wrong);
    EXPECT_EQ(ours.status, 2) << wrong;
    EXPECT_NE(ours.err, "") << wrong;
    EXPECT_EQ(ours.out, "") << wrong;
  }
  EXPECT_EQ(count("--help").status, 0);
}
