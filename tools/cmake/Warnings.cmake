# Warnings; .ci/run makes them errors (CXXFLAGS=-Werror). A switch that misses an enumerator is an error in every build.
# Sanitizers are chosen with CNNTRAIN_SANITIZE.
add_library(cnntrain_flags INTERFACE)
target_compile_options(cnntrain_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-qual -Woverloaded-virtual
  -Wimplicit-fallthrough -Werror=switch -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  # False alarms about the elements of initialiser lists, and about references into what outlives the call.
  target_compile_options(cnntrain_flags INTERFACE -Wno-maybe-uninitialized -Wno-dangling-reference)
endif()
if(CNNTRAIN_SANITIZE)
  # GCC takes instrumented code of its own <regex> for uses of uninitialised memory. -g1 has the lines that reports
  # show; tracking variables as well doubles the time to compile.
  target_compile_options(cnntrain_flags INTERFACE -fsanitize=${CNNTRAIN_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all -g1 -Wno-maybe-uninitialized)
  target_link_options(cnntrain_flags INTERFACE -fsanitize=${CNNTRAIN_SANITIZE})
endif()

# For sources of a folder that include protobuf's headers. With GCC's ThreadSanitizer these headers give maps two
# members that the library, which was built without it, does not know.
function(cnntrain_protobuf_sources)
  if(CNNTRAIN_SANITIZE MATCHES "thread")
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -U__SANITIZE_THREAD__)
  endif()
endfunction()
