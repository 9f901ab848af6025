#!/bin/sh
# `lint.sh format` checks clang-format and the length of lines, `lint.sh tidy BUILD_DIR [FILE...]` runs clang-tidy (on
# all files that the build compiles by default). For single files, configure with -DCMAKE_UNITY_BUILD=OFF.
set -e
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
sources() { find src include tests tools \( -name '*.cpp' -o -name '*.h' -o -name '*.hpp' \) | sort; }
# Text files with lines of our own: not JSON, texts of others, and text that tests read. The commands of README.md stay
# in one line each, to be pasted.
texts() {
    { ls -d .ci/run CMakeLists.txt README.md && find configs src include tests tools -type f; } |
        grep -v -E '\.(json|png|jpg|jpeg|bin|tfrecord|safetensors)$|^configs/benchmarks\.yml$|/__pycache__/' |
        grep -v -E '^tests/golden/foreign/|^tests/lines/.*\.t(\.err)?$' | sort
}
check_lengths() {
    texts | LC_ALL=C xargs awk '
        { text = $0; gsub(/[\200-\277]/, "", text) }  # bytes that continue a UTF-8 character have no column
        length(text) > 120 && !/^tools\/install_packages\.sh / {
            printf "%s:%d: %d columns, at most 120\n", FILENAME, FNR, length(text)
            failed = 1
        }
        END { exit failed }' >&2
}
case "$1" in
    format)
        check_lengths
        # Versions format differently: the sources have the form of this one.
        if ! clang-format --version | grep -q 'version 14\.'; then
            echo "skipped: needs clang-format 14, not $(clang-format --version)"
            exit 77
        fi
        sources | xargs clang-format --dry-run --Werror
        ;;
    tidy)
        build=$2
        shift 2
        if [ $# -eq 0 ]; then
            # What the build compiles, in its batches of sources; generated sources are not ours.
            compiled=$(sed -n 's/^ *"file": "\(.*\)".*/\1/p' "$build/compile_commands.json" | sort -u)
            set -- $(printf '%s\n' "$compiled" | grep -v '\.pb\.cc$')
        fi
        printf '%s\n' "$@" | xargs -P "$(nproc)" -n 4 clang-tidy -p "$build" --quiet
        ;;
    *)
        echo "usage: tools/lint.sh format | tidy BUILD_DIR [FILE...]" >&2
        exit 2
        ;;
esac
