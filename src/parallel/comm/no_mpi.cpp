// Replaces mpi.cpp if CMake found no MPI.
#include "cnntrain/base/error.h"
#include "cnntrain/parallel/communicator.h"

namespace cnntrain::comm {

std::unique_ptr<Communicator> make_mpi_communicator(const Settings& /*settings*/) {
    throw Error(ErrorKind::unsupported,
                "this build has no MPI, so it runs as one process only; install libopenmpi-dev and openmpi-bin and "
                "build again");
}

}  // namespace cnntrain::comm
