# cnntrain_poplar: what --backend ipu includes and links, a Poplar SDK or the emulator. Nothing but the device source
# (src/backend/ipu/device_*.cpp) differs between them.
if(NOT CNNTRAIN_IPU)
  return()
endif()
add_library(cnntrain_poplar INTERFACE)
if(NOT CNNTRAIN_POPLAR_SDK)
  target_link_libraries(cnntrain_poplar INTERFACE cnntrain_ipu_emulator)
  return()
endif()

# A Poplar folder; or a whole SDK, in which Poplar with its libraries is a folder, whose name ends with the version.
file(GLOB packages LIST_DIRECTORIES true ${CNNTRAIN_POPLAR_SDK}/poplar-*)
set(poplar_folders ${CNNTRAIN_POPLAR_SDK} ${CNNTRAIN_POPLAR_SDK}/poplar ${CNNTRAIN_POPLAR_SDK}/poplibs
  ${CNNTRAIN_POPLAR_SDK}/gcl ${packages})
foreach(header poplar/Engine.hpp poplin/Convolution.hpp popnn/NonLinearity.hpp popops/ElementWise.hpp
        poprand/RandomGen.hpp poputil/TileMapping.hpp gcl/Collectives.hpp)
  get_filename_component(library ${header} DIRECTORY)
  find_path(poplar_include_${library} ${header} PATHS ${poplar_folders} PATH_SUFFIXES include NO_DEFAULT_PATH NO_CACHE)
  find_library(poplar_library_${library} ${library} PATHS ${poplar_folders} PATH_SUFFIXES lib lib64
    NO_DEFAULT_PATH NO_CACHE)
  if(NOT poplar_include_${library} OR NOT poplar_library_${library})
    list(JOIN poplar_folders ", " searched)
    message(FATAL_ERROR "-DCNNTRAIN_POPLAR_SDK=${CNNTRAIN_POPLAR_SDK}: include/${header} or lib/lib${library}.so is "
      "missing. Searched: ${searched}")
  endif()
  target_include_directories(cnntrain_poplar SYSTEM INTERFACE ${poplar_include_${library}})
  list(PREPEND poplar_libraries ${poplar_library_${library}})  # each needs only those that stand after it
endforeach()
find_package(Threads REQUIRED)
target_link_libraries(cnntrain_poplar INTERFACE ${poplar_libraries} Threads::Threads)

set(CNNTRAIN_POPLAR_SDK_NAME "Poplar SDK of ${CNNTRAIN_POPLAR_SDK}")
foreach(folder ${packages} ${CNNTRAIN_POPLAR_SDK})
  get_filename_component(folder ${folder} REALPATH)
  if(folder MATCHES "poplar[^/]*-([0-9]+\\.[0-9]+\\.[0-9]+)[^/]*$")
    set(CNNTRAIN_POPLAR_SDK_NAME "Poplar SDK ${CMAKE_MATCH_1}")
    break()
  endif()
endforeach()
message(STATUS "--backend ipu: ${CNNTRAIN_POPLAR_SDK_NAME}")
