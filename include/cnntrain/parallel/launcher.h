// The ranks that a launcher defines, read from environment variables. This needs no MPI, so a command can check its
// options before MPI starts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace cnntrain::comm {

using Environment = std::map<std::string, std::string>;
/// The environment of this process.
Environment process_environment();

enum class Launcher : std::uint8_t {
    open_mpi,  // mpirun: OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE
    pmi,       // Hydra and others: PMI_RANK, PMI_SIZE, MPI_LOCALRANKID, MPI_LOCALNRANKS
    slurm,     // srun: SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID, SLURM_STEP_TASKS_PER_NODE and SLURM_NODEID
};
const char* name(Launcher launcher);

struct World {
    Launcher launcher = Launcher::open_mpi;
    int rank = 0, size = 1;
    std::optional<int> local_rank, local_size;  // among the ranks of this host, if the launcher provides them
};

/// Environment variables POPDIST_*: the processes of a poprun line.
struct PopDist {
    int replicas = 1, local_replicas = 1;
    int ipus_per_replica = 1;
    int instances = 1, instance = 0;
    int local_instance = 0;
};

struct Launched {
    std::optional<World> world;  // empty: the process was not started by a launcher
    std::optional<PopDist> popdist;
};

/// Open MPI's variables take precedence over PMI's, and these over Slurm's, because srun may have started mpirun's
/// daemons. Slurm's variables count only within a step of srun; in a batch script or an salloc shell they describe the
/// allocation. Throws Error(usage) for malformed or contradictory numbers, and if the instances of a poprun line differ
/// from the started processes.
Launched read_launched(const Environment& environment);

}  // namespace cnntrain::comm
