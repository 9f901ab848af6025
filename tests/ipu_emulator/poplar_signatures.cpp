#include "ipu_emulator/poplar_signatures.h"

#include "ipu_emulator/poplar_defaults.h"
