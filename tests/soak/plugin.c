/* plugin.c — a library to be loaded and unloaded. C, so that no unique symbol keeps it loaded. */
#include <stdlib.h>

static PLUGIN_THREAD_LOCAL int calls;
static void* kept;

__attribute__((constructor)) static void loaded(void) { kept = malloc(5000); }
__attribute__((destructor)) static void unloaded(void) { free(kept); }

int plugin_count(void) { return ++calls; }
