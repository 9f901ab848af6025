#include "ipu_emulator/poplar_signatures.h"
