# Run by `cmake --install`, with the variables that Install.cmake sets: writes the link poprun, manual pages, completion
# and the list of changes.
find_program(GZIP gzip)

function(written file)  # by `program` with the other arguments
  cmake_path(GET file PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${program} ${ARGN} OUTPUT_FILE ${file} COMMAND_ERROR_IS_FATAL ANY)
  message(STATUS "Installing: ${file}")
endfunction()

function(compressed file)
  if(GZIP)
    execute_process(COMMAND ${GZIP} -9nf ${file} COMMAND_ERROR_IS_FATAL ANY)
  endif()
endfunction()

file(CREATE_LINK cnntrain ${bin}/poprun SYMBOLIC)

execute_process(COMMAND ${program} help --man OUTPUT_VARIABLE pages COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" pages "${pages}")
foreach(page IN LISTS pages)
  string(REGEX MATCH "[0-9]$" section ${page})
  written(${man}/man${section}/${page} help --man ${page})
  compressed(${man}/man${section}/${page})
endforeach()
if(GZIP)
  file(CREATE_LINK cnntrain-poprun.1.gz ${man}/man1/poprun.1.gz SYMBOLIC)
else()
  file(CREATE_LINK cnntrain-poprun.1 ${man}/man1/poprun.1 SYMBOLIC)
endif()

written(${share}/bash-completion/completions/cnntrain help --completion bash)
file(CREATE_LINK cnntrain ${share}/bash-completion/completions/poprun SYMBOLIC)
written(${share}/fish/vendor_completions.d/cnntrain.fish help --completion fish)
file(CREATE_LINK cnntrain.fish ${share}/fish/vendor_completions.d/poprun.fish SYMBOLIC)
# Debian's zsh reads vendor-completions, others read site-functions.
set(zsh ${share}/zsh/site-functions)
if(share MATCHES "/usr/share$" AND NOT share MATCHES "/usr/local/share$")
  set(zsh ${share}/zsh/vendor-completions)
endif()
written(${zsh}/_cnntrain help --completion zsh)

file(MAKE_DIRECTORY ${doc})
file(COPY_FILE ${changes} ${doc}/changelog)
compressed(${doc}/changelog)
