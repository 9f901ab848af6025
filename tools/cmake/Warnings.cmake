# Warnings are errors; sanitizers are chosen with CNNTRAIN_SANITIZE.
add_library(cnntrain_flags INTERFACE)
target_compile_options(cnntrain_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-qual -Woverloaded-virtual
  -Wimplicit-fallthrough -Werror -ffp-contract=off)
if(CNNTRAIN_SANITIZE)
  target_compile_options(cnntrain_flags INTERFACE -fsanitize=${CNNTRAIN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g)
  target_link_options(cnntrain_flags INTERFACE -fsanitize=${CNNTRAIN_SANITIZE})
endif()
