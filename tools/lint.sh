#!/bin/sh
# Style, held by machines: `lint.sh format` checks clang-format, `lint.sh tidy BUILD_DIR [FILE...]` runs clang-tidy on the
# files (all sources by default) with the compile commands of a build.
set -e
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
sources() { find src include tests tools \( -name '*.cpp' -o -name '*.h' -o -name '*.hpp' \) | sort; }
case "$1" in
    format)
        sources | xargs clang-format --dry-run --Werror
        ;;
    tidy)
        build=$2
        shift 2
        if [ $# -eq 0 ]; then
            set -- $(find src tests tools -name '*.cpp' | sort)
        fi
        printf '%s\n' "$@" | xargs -P "$(nproc)" -n 4 clang-tidy -p "$build" --quiet
        ;;
    *)
        echo "usage: tools/lint.sh format | tidy BUILD_DIR [FILE...]" >&2
        exit 2
        ;;
esac
