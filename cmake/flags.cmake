# How this project's own code is compiled. Two interface targets:
#
#   weft_options   warnings and whatever every file of the tree needs; the runtime uses only this under TSan
#   weft_program   the same plus the full sanitizer: tests, examples, bench
#
# Under TSan the runtime is not instrumented: its operations name their happens-before edges themselves
# (src/context/sanitizer.hpp), so a report is about the user's code.

add_library(weft_options INTERFACE)
target_compile_options(weft_options INTERFACE
  # offsetof: intrusive links lead back to types that are not standard-layout; both compilers define that.
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wno-invalid-offsetof>
  # GCC 12 warns of overlaps in std::string's own code that cannot be.
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${WEFT_WERROR}>>:-Werror>)
target_include_directories(weft_options INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
if(WEFT_DEBUG_CHECKS)
  target_compile_definitions(weft_options INTERFACE WEFT_DEBUG_CHECKS)
endif()

add_library(weft_program INTERFACE)
target_link_libraries(weft_program INTERFACE weft_options)

# Every target that is linked with the library is linked with the sanitizer's runtime.
set(weft_sanitizer_link "")

if(WEFT_SANITIZE STREQUAL "address")
  set(flags -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_compile_options(weft_options INTERFACE ${flags})
  set(weft_sanitizer_link -fsanitize=address,undefined)
elseif(WEFT_SANITIZE STREQUAL "thread")
  target_compile_definitions(weft_options INTERFACE WEFT_TSAN=1)
  target_compile_options(weft_program INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")   # of the fence that light_barrier() has for kernels without membarrier
    target_compile_options(weft_program INTERFACE -Wno-tsan)
  endif()
  set(weft_sanitizer_link -fsanitize=thread)
elseif(WEFT_SANITIZE)
  message(FATAL_ERROR "WEFT_SANITIZE=${WEFT_SANITIZE}: allowed are address, thread or nothing")
endif()
