# penstock_link_modules(FOLDER PACKAGE) makes symbolic links to the Python
# modules of FOLDER in build/python/PACKAGE; PACKAGE is a path such as
# penstock/loader. For the tests, build/python has the layout of the installed
# package.
function(penstock_link_modules folder package)
  set(target ${PROJECT_BINARY_DIR}/python/${package})
  file(MAKE_DIRECTORY ${target})
  file(GLOB modules CONFIGURE_DEPENDS ${folder}/*.py)
  foreach(module IN LISTS modules)
    get_filename_component(name ${module} NAME)
    file(CREATE_LINK ${module} ${target}/${name} SYMBOLIC)
  endforeach()
endfunction()
