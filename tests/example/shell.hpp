// shell.hpp — runs a command and keeps what it said: for tests of whole programs.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace example_test {

namespace fs = std::filesystem;

struct outcome {
  int status = -1;   // -1: it did not exit by itself
  std::string out, err;
  std::string last_line() const {
    const std::string text = out.substr(0, out.find_last_not_of('\n') + 1);
    return text.substr(text.rfind('\n') + 1);
  }
};

inline std::string quoted(const fs::path& path) {   // for paths without a quote in them
  return "'" + path.string() + "'";
}

// A directory of its own; gone with the object.
class scratch {
 public:
  scratch() {
    std::string name = (fs::temp_directory_path() / "weft-test-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no scratch directory");
    path_ = name;
  }
  ~scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

  outcome run(const std::string& command) const {
    const fs::path out = path_ / "stdout", err = path_ / "stderr";
    const std::string line = "(" + command + ") >" + quoted(out) + " 2>" + quoted(err) + " </dev/null";
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(out), contents(err)};
  }

 private:
  static std::string contents(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  fs::path path_;
};

}  // namespace example_test
