# Rules for `cmake --install`, and for the Debian package that `cpack` makes. The program finds its configurations
# in share/cnntrain next to the folder that it is in, wherever that is moved.
include(GNUInstallDirs)
install(TARGETS cnntrain RUNTIME)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs DESTINATION ${CMAKE_INSTALL_DATADIR}/cnntrain)
install(FILES ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/tools/debian/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The link poprun, manual pages and completion: the built program writes its own.
install(CODE "
  set(program \"$<TARGET_FILE:cnntrain>\")
  set(bin \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
  set(man \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}\")
  set(share \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}\")
  set(doc \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}\")
  set(changes \"${PROJECT_SOURCE_DIR}/tools/debian/changelog\")
")
install(SCRIPT ${PROJECT_SOURCE_DIR}/tools/cmake/InstallTexts.cmake)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cnntrain)
set(CPACK_PACKAGE_CONTACT
  "Seed ecadd096 maintainers <maintainers@users.noreply.a-seed-ecadd096.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "trains and measures image networks and BERT on CPUs")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "cnntrain is one program that trains, validates and times ResNet, ResNeXt,
EfficientNet and BERT on ordinary CPUs, in bfloat16 or float32, on one
machine or on many (MPI). It takes the flags, configuration names and
files of Graphcore's TensorFlow 1 example programs.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # the libraries of the built program, in the versions that it needs
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "ca-certificates, openmpi-bin")  # for `cnntrain weights`; mpirun, for poprun
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
include(CPack)
