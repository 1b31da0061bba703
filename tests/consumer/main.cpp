// What a user's program does first: goroutines, a channel, and an exception of the library caught by its
// type, which in the shared build crosses the library's border.
#include <cstdio>
#include <weft/weft.hpp>

int main() {
  return weft::run([] {
    auto numbers = weft::make_chan<int>(4);
    weft::go([numbers] {
      for (int i = 1; i <= 100; i++) numbers.send(i);
      numbers.close();
    });
    int sum = 0;
    for (int n : numbers) sum += n;

    bool caught = false;
    try {
      numbers.send(1);
    } catch (const weft::channel_closed&) {
      caught = true;
    }
    std::printf("sum %d, caught %d\n", sum, caught);
    return sum == 5050 && caught ? 0 : 1;
  });
}
