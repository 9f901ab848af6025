// Variables of the environment, and texts that name them.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace cnntrain {

using Variables = std::map<std::string, std::string>;

/// All environment variables of this process.
Variables process_variables();

/// True if Open MPI's mpirun starts processes for root without --allow-run-as-root: both of its variables are 1.
bool mpirun_allows_root(const Variables& variables);

/// Length of the name (letters, digits, _, no digit in front) that begins at `at`; 0: none does.
std::size_t name_length(std::string_view text, std::size_t at);

/// $NAME and ${NAME} replaced where they are set; the others stay and are added to `unset`. Nothing escapes a $.
std::string expand(std::string_view text, const Variables& variables, std::set<std::string>& unset);

}  // namespace cnntrain
