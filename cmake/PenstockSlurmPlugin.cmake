# Builds and installs a shared object that Slurm's processes load.
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

# penstock_slurm_plugin(NAME MAP) sets the options of a plugin on the MODULE
# library NAME; MAP lists its exported symbols. A plugin links libc only:
# sources of common/ are compiled in, libstdc++ and libgcc linked statically.
function(penstock_slurm_plugin name map)
  set_target_properties(${name} PROPERTIES
    PREFIX ""
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    LINK_DEPENDS ${map})
  target_include_directories(${name} SYSTEM PRIVATE ${SLURM_INCLUDE_DIR})
  target_include_directories(${name} PRIVATE ${PROJECT_BINARY_DIR}/generated)
  # Slurm's daemons have no sanitizer run time.
  target_compile_options(${name} PRIVATE -fno-sanitize=all)
  # libstdc++.a needs libm (from_chars): link it statically, too.
  target_link_libraries(${name} PRIVATE
    -l:libstdc++.a -l:libm.a -Wl,--as-needed)
  target_link_options(${name} PRIVATE
    -fno-sanitize=all -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL
    -Wl,-z,lazy -Wl,--version-script=${map})
  install(TARGETS ${name} LIBRARY DESTINATION ${PENSTOCK_SLURM_PLUGIN_DIR})
endfunction()
