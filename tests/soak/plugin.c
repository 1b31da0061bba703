/* plugin.c — a library to be loaded and unloaded. C, so that no unique symbol keeps it loaded. */
#include <stdlib.h>

static __thread int sum;
static void* kept;

__attribute__((constructor)) static void loaded(void) { kept = malloc(5000); }
__attribute__((destructor)) static void unloaded(void) { free(kept); }

int plugin_add(int n) { return sum += n; }
