# Warnings are errors; sanitizers are chosen with CNNTRAIN_SANITIZE.
add_library(cnntrain_flags INTERFACE)
target_compile_options(cnntrain_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-qual -Woverloaded-virtual
  -Wimplicit-fallthrough -Werror -ffp-contract=off)
if(CNNTRAIN_SANITIZE)
  # GCC takes instrumented code of its own <regex> for uses of uninitialised memory.
  target_compile_options(cnntrain_flags INTERFACE -fsanitize=${CNNTRAIN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g
    -Wno-maybe-uninitialized)
  target_link_options(cnntrain_flags INTERFACE -fsanitize=${CNNTRAIN_SANITIZE})
endif()
