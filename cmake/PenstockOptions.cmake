# Language level, warnings, sanitizers: the same for every target.
option(PENSTOCK_TESTS "Build the tests" ON)
option(PENSTOCK_WERROR "Treat warnings as errors" OFF)
option(PENSTOCK_PACKAGED "Install nothing that names the build's folders" OFF)
set(PENSTOCK_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

# nvcc does not accept these warning and sanitizer options.
set(host_only "$<COMPILE_LANGUAGE:C,CXX>")
add_compile_options(
  "$<${host_only}:-Wall;-Wextra;-Wshadow;-Wno-missing-field-initializers>")
if(PENSTOCK_WERROR)
  add_compile_options("$<${host_only}:-Werror>")
endif()
if(PENSTOCK_SANITIZE)
  add_compile_options(
    "$<${host_only}:-fsanitize=${PENSTOCK_SANITIZE};-fno-omit-frame-pointer>"
    "$<${host_only}:-fno-sanitize-recover=all>")
  add_link_options(-fsanitize=${PENSTOCK_SANITIZE})
endif()

# Includes are written from the repository root: "common/result.h".
include_directories(${PROJECT_SOURCE_DIR})

find_program(PENSTOCK_CCACHE ccache)
if(PENSTOCK_CCACHE)
  # All checkouts of the repository share one cache: no absolute paths in keys.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
      CCACHE_NOHASHDIR=1 ${PENSTOCK_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
