# How a shared object that Slurm's processes load is built and installed.
if(NOT SLURM_INCLUDE_DIR)
  return()
endif()

find_library(slurm_full slurmfull PATH_SUFFIXES slurm-wlm slurm)
cmake_path(GET slurm_full PARENT_PATH slurm_plugin_dir)
if(NOT slurm_plugin_dir)
  set(slurm_plugin_dir ${CMAKE_INSTALL_FULL_LIBDIR}/slurm)
endif()
set(PENSTOCK_SLURM_PLUGIN_DIR ${slurm_plugin_dir} CACHE PATH
    "Slurm's plugin directory (scontrol show config: PluginDir)")

# Gives the MODULE library name (of which map lists the symbols) what a plugin
# needs. It links libc only, so the sources of common that it uses must be
# compiled in; libstdc++ and libgcc are linked statically.
function(penstock_slurm_plugin name map)
  set_target_properties(${name} PROPERTIES
    PREFIX ""
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    LINK_DEPENDS ${map})
  target_include_directories(${name} SYSTEM PRIVATE ${SLURM_INCLUDE_DIR})
  target_include_directories(${name} PRIVATE ${PROJECT_BINARY_DIR}/generated)
  # Slurm's daemons carry no sanitizer's run time.
  target_compile_options(${name} PRIVATE -fno-sanitize=all)
  # libm comes with libstdc++.a (from_chars), and statically too.
  target_link_libraries(${name} PRIVATE
    -l:libstdc++.a -l:libm.a -Wl,--as-needed)
  target_link_options(${name} PRIVATE
    -fno-sanitize=all -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL
    -Wl,-z,lazy -Wl,--version-script=${map})
  install(TARGETS ${name} LIBRARY DESTINATION ${PENSTOCK_SLURM_PLUGIN_DIR})
endfunction()
