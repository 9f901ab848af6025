// oneDNN, as a user knows it.
#pragma once

#include <string>

namespace cnntrain::cpu {

/// "oneDNN 2.6.3 with AVX512_CORE_AMX", and whose limit that is where the environment sets one.
std::string library_text();

}  // namespace cnntrain::cpu
