#!/bin/sh
# Checks clang-format, the length of lines, and how comments open. clang-tidy is a stage of full_check.sh.
set -e
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
sources() { find src include tests tools \( -name '*.cpp' -o -name '*.h' -o -name '*.hpp' \) | sort; }
# Text files with lines of our own: not JSON, texts of others, and text that tests read. The commands of README.md stay
# in one line each, to be pasted.
texts() {
    { ls -d .ci/run CMakeLists.txt README.md && find configs src include tests tools -type f; } |
        grep -v -E '\.(json|png|jpg|jpeg|bin|tfrecord|safetensors)$|^configs/(benchmarks|weights)\.yml$|/__pycache__/' |
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
        tools/comment_openings.py
        # Versions format differently: the sources have the form of this one.
        if ! clang-format --version | grep -q 'version 14\.'; then
            echo "skipped: needs clang-format 14, not $(clang-format --version)"
            exit 77
        fi
        sources | xargs clang-format --dry-run --Werror
        ;;
    *)
        echo "usage: tools/lint.sh format" >&2
        exit 2
        ;;
esac
