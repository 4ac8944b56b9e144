# penstock_link_modules(FOLDER PACKAGE) links the Python modules of FOLDER into
# PACKAGE, a path such as penstock/loader, of the build tree's folder python,
# which holds the whole package as it will be installed, for the tests.
function(penstock_link_modules folder package)
  set(target ${PROJECT_BINARY_DIR}/python/${package})
  file(MAKE_DIRECTORY ${target})
  file(GLOB modules CONFIGURE_DEPENDS ${folder}/*.py)
  foreach(module IN LISTS modules)
    get_filename_component(name ${module} NAME)
    file(CREATE_LINK ${module} ${target}/${name} SYMBOLIC)
  endforeach()
endfunction()
