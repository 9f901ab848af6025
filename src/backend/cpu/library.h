// Name of the oneDNN library for users.
#pragma once

#include <string>

namespace cnntrain::cpu {

/// "oneDNN 2.6.3 with AVX512_CORE_AMX", with the source of the limit if the environment sets one.
std::string library_text();

}  // namespace cnntrain::cpu
