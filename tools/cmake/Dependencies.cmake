# Every third-party package, with its Debian name. Each is linked by the one module that may include it.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED)              # the thread pool that Debian's oneDNN uses; backend/cpu shares it
find_package(CLI11 REQUIRED)               # libcli11-dev: tools
find_package(yaml-cpp REQUIRED)            # libyaml-cpp-dev: config
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)     # libre2-dev: base, benchmark
# libdnnl-dev: backend/cpu (2.6 and 3.x). Found by hand: Debian's package configuration asks for OpenCL's headers.
find_path(DNNL_INCLUDE_DIR dnnl.hpp REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)
add_library(DNNL::dnnl UNKNOWN IMPORTED)
set_target_properties(DNNL::dnnl PROPERTIES
  IMPORTED_LOCATION ${DNNL_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${DNNL_INCLUDE_DIR})
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)  # libhwy-dev: backend/cpu
find_package(TBB REQUIRED)                 # libtbb-dev: data
pkg_check_modules(JPEG REQUIRED IMPORTED_TARGET libjpeg)  # libjpeg62-turbo-dev: data
pkg_check_modules(PNG REQUIRED IMPORTED_TARGET libpng)    # libpng-dev: data
find_package(ZLIB REQUIRED)                # zlib1g-dev: weights
pkg_check_modules(SNAPPY REQUIRED IMPORTED_TARGET snappy)  # libsnappy-dev: weights
# Optional formats of photos: data. CNNTRAIN_IMAGE_FORMATS are the definitions that switch them on.
set(CNNTRAIN_IMAGE_FORMATS)
set(CNNTRAIN_IMAGE_LIBRARIES)
function(cnntrain_image_format name library found_library package)
  if(NOT ${name}_FOUND)
    message(STATUS "No ${library} found: ${name} photos are not read. ${package} brings it.")
    return()
  endif()
  string(TOUPPER CNNTRAIN_${name} definition)
  set(CNNTRAIN_IMAGE_FORMATS ${CNNTRAIN_IMAGE_FORMATS} ${definition} PARENT_SCOPE)
  set(CNNTRAIN_IMAGE_LIBRARIES ${CNNTRAIN_IMAGE_LIBRARIES} ${found_library} PARENT_SCOPE)
endfunction()
pkg_check_modules(WebP IMPORTED_TARGET libwebp libwebpdemux)
cnntrain_image_format(WebP libwebp PkgConfig::WebP libwebp-dev)
pkg_check_modules(TIFF IMPORTED_TARGET libtiff-4>=4.5)
cnntrain_image_format(TIFF "libtiff from 4.5 on" PkgConfig::TIFF libtiff-dev)
find_package(GIF 5)
cnntrain_image_format(GIF giflib GIF::GIF libgif-dev)
pkg_check_modules(HEIF IMPORTED_TARGET libheif>=1.15)
cnntrain_image_format(HEIF "libheif from 1.15 on" PkgConfig::HEIF libheif-dev)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)  # libutf8proc-dev: data
find_package(pugixml REQUIRED)             # libpugixml-dev: data
find_package(spdlog REQUIRED)              # libspdlog-dev: base/log
find_package(nlohmann_json REQUIRED)       # nlohmann-json3-dev: .cpp files only
pkg_check_modules(CURL IMPORTED_TARGET libcurl>=7.85)      # libcurl4-openssl-dev: optional, for `cnntrain weights`
pkg_check_modules(CRYPTO IMPORTED_TARGET libcrypto)        # libssl-dev: optional, for its checksums
if(CURL_FOUND AND CRYPTO_FOUND)
  set(CNNTRAIN_DOWNLOAD_LIBRARIES PkgConfig::CURL PkgConfig::CRYPTO)
else()
  message(STATUS "No libcurl or libcrypto: weights are not fetched. libcurl4-openssl-dev and libssl-dev bring them.")
endif()
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI COMPONENTS CXX)           # libopenmpi-dev, openmpi-bin: optional, for several processes
if(NOT MPI_CXX_FOUND)
  message(STATUS "No MPI found: this build runs as one process only. libopenmpi-dev and openmpi-bin bring it.")
endif()
if(CNNTRAIN_TESTS)
  find_package(Protobuf REQUIRED)          # libprotobuf-dev, protobuf-compiler
  find_package(GTest)                      # libgtest-dev, libgmock-dev
  if(NOT GTest_FOUND)
    message(STATUS "No GoogleTest found: tests are left out. tools/install_packages.sh tests brings it.")
  endif()
endif()
